/* SPDX-License-Identifier: MIT
 * The checking build: every recorded stack against _Unwind_Backtrace of libgcc. Runs in the target,
 * in tests only; may use the stack and call libc as the shipped library must not. */
#ifdef HWR_CHECK

#include "target/recorder/state/self.h"

#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include "target/recorder/session/session.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/environment.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/sys.h"
#include "target/recorder/state/thread.h"
#include "target/recorder/unwind/cfi.h"

enum {
	STACK_MAX = 16384,
	SELF_SLOTS = 4096,
	SELF_NODES = 1 << 22,
	SELF_RECORDS = 1024,
	SELF_NESTED = 64,
	SELF_LOG_BYTES = 1 << 20,
	REPORTED_MAX = 3,
};

struct stack {
	u32 count;
	u64 pc[STACK_MAX];
};

static bool private_session;

/* ---- a session without a monitor ---- */

static u64 round_up(u64 bytes) { return (bytes + HWR_PAGE - 1) & ~(HWR_PAGE - 1); }

static void lay_out(struct hw_control *c)
{
	c->magic = HW_BERTH_MAGIC;
	c->version = HW_SESSION_VERSION;
	c->flags = HW_RUN_ALLOC_STACKS | HW_RUN_FREE_STACKS;
	c->modules_offset = round_up(sizeof *c);
	c->modules_bytes = SELF_LOG_BYTES;
	c->slots_offset = c->modules_offset + c->modules_bytes;
	c->slots_max = c->slots_mapped = SELF_SLOTS;
	c->nodes_offset = round_up(c->slots_offset + SELF_SLOTS * sizeof(struct hw_slot));
	c->nodes_max = SELF_NODES;
	c->rings_offset = c->nodes_offset + SELF_NODES * sizeof(struct hw_node);
	c->ring_records = SELF_RECORDS;
	c->nested_records = SELF_NESTED;
	c->ring_stride = (SELF_RECORDS + SELF_NESTED) * HW_RECORD_ROOM;
	c->total_bytes = c->rings_offset + SELF_SLOTS * c->ring_stride;
	c->max_depth = HWR_DEPTH_MAX;
}

bool hwr_self_session(void)
{
	char value[16];
	struct hw_control layout = {.magic = 0};
	struct hw_control *control;

	if (!hwr_environment("HEAPWISE_CHECK_SELF", value, sizeof value))
		return false;
	lay_out(&layout);
	control = hwr_map_private(layout.total_bytes);
	if (!control)
		return false;
	*control = layout;
	if (hwr_environment("HEAPWISE_CHECK_DEPTH", value, sizeof value))
		control->max_depth = (u32)atoi(value);
	private_session = true;
	return hwr_session_attach(control);
}

void hwr_self_drain(struct hw_slot *slot)
{
	if (!private_session)
		return;
	store_release(&slot->tail, slot->head);
	store_release(&slot->nested_tail, slot->nested_head);
	store_release(&hwr_control->modules_tail, hwr_control->modules_head);
}

/* ---- the comparison ---- */

static _Unwind_Reason_Code collect(struct _Unwind_Context *context, void *data)
{
	struct stack *s = data;
	int before = 0;
	u64 pc = _Unwind_GetIPInfo(context, &before);

	if (s->count == STACK_MAX)
		return _URC_END_OF_STACK;
	s->pc[s->count++] = pc + (before ? 1 : 0);
	return _URC_NO_REASON;
}

static bool in_recorder(u64 pc) { return pc - hwr_own_start < hwr_own_bytes; }

/* libgcc stops in a frame without CFI; we may cross it. */
static bool has_cfi(u64 pc)
{
	static __thread struct hwr_cfi_scratch *scratch;
	struct hwr_module_at module;

	if (!scratch)
		scratch = hwr_map_private(sizeof *scratch);
	return hwr_module_at(pc - 1, &module) &&
	       hwr_cfi_find(pc - 1, &module, scratch) <= HWR_CFI_SIGNAL;
}

/* 0 = the same. own[0] and reference start at the hook's caller. */
static int compare(const struct stack *own, const u64 *reference, u32 count)
{
	bool cut = own->count && own->pc[own->count - 1] == HW_CUT_PC;
	u32 frames = own->count - (cut ? 1 : 0);

	while (count > 0 && reference[count - 1] <= 1)
		count--;
	for (u32 i = 0; i < frames && i < count; i++)
		if (own->pc[i] != reference[i])
			return 1;
	if (frames < count)
		return cut && frames == hwr_control->max_depth ? 0 : 2;
	return frames == count || (count && !has_cfi(reference[count - 1])) ? 0 : 3;
}

static void own_stack(struct stack *own, u32 node)
{
	own->count = 0;
	for (; node; node = hwr_nodes[node].parent)
		if (hwr_nodes[node].parent || hwr_nodes[node].pc >= HW_GENERATION_LIMIT)
			own->pc[own->count++] = hwr_nodes[node].pc;
}

static void report(int difference, const struct stack *own, const u64 *reference, u32 count)
{
	static u32 reported;
	char line[160];
	u32 rows = own->count > count ? own->count : count;

	if (add_relaxed(&reported, 1) >= REPORTED_MAX)
		return;
	for (u32 i = 0; i < rows && i < 60; i++) {
		int n = snprintf(line, sizeof line,
				 "heapwise-check: difference %d frame %u ours %#lx libgcc %#lx\n",
				 difference, i, i < own->count ? own->pc[i] : 0,
				 i < count ? reference[i] : 0);

		hwr_write(2, line, (size_t)n);
	}
}

void hwr_self_check(u32 node, const struct hwr_caller *caller)
{
	static __thread struct stack *own, *reference;
	static __thread bool inside;
	u32 first = 0;
	int difference;

	if (inside) /* a signal handler in the middle of a comparison: its stacks go unchecked */
		return;
	inside = true;
	if (!own) {
		own = hwr_map_private(sizeof *own);
		reference = hwr_map_private(sizeof *reference);
	}
	own_stack(own, node);
	reference->count = 0;
	_Unwind_Backtrace(collect, reference);
	while (first < reference->count && in_recorder(reference->pc[first]))
		first++;
	difference = compare(own, reference->pc + first, reference->count - first);
	if (!difference && own->count && own->pc[0] != caller->pc)
		difference = 4;
	hwr_fault(HW_FAULT_CHECKED);
	if (difference) {
		hwr_fault(HW_FAULT_CHECK_FAILED);
		report(difference, own, reference->pc + first, reference->count - first);
	}
	inside = false;
}

static __attribute__((destructor)) void summarize(void)
{
	char line[160];
	int n;

	if (!private_session || !load_relaxed(&hwr_token.on))
		return;
	n = snprintf(line, sizeof line,
		     "heapwise-check: %lu stacks compared, %lu differ, %lu broken\n",
		     hwr_control->faults[HW_FAULT_CHECKED],
		     hwr_control->faults[HW_FAULT_CHECK_FAILED],
		     hwr_control->faults[HW_FAULT_STACK_BROKEN]);
	hwr_write(2, line, (size_t)n);
}

#endif
