/* SPDX-License-Identifier: MIT
 * Stacks that are not kept for the next walk. Runs in the target; no lock, no recursion. */
#include "target/recorder/unwind/fresh.h"

#include "target/recorder/state/context.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"
#include "target/recorder/unwind/slow.h"

void hwr_fresh_look_up(struct hwr_thread *t, u32 count, u64 hash)
{
	for (u32 i = count; i-- > 0;) {
		hash = hwr_path_hash(hash, t->fresh[i].pc);
		t->fresh[i].hash = hash;
		hwr_context_prefetch(hash);
	}
	for (u32 i = count; i-- > 0;) {
		t->fresh[i].node = hwr_context_candidate(t->fresh[i].hash);
		__builtin_prefetch(&hwr_nodes[t->fresh[i].node]);
	}
}

u32 hwr_stack_node(struct hwr_thread *t, u32 count, bool cut)
{
	u32 node = hwr_root_node;
	u64 hash = hwr_root_hash;

	t->depth = 0;
	if (cut) {
		hash = hwr_path_hash(hash, HW_CUT_PC);
		node = hwr_context_child(node, HW_CUT_PC, hash);
		store_relaxed(&hwr_nodes[node].flags, HW_NODE_CUT);
	}
	hwr_fresh_look_up(t, count, hash);
	for (u32 i = count; i-- > 0;)
		node = hwr_context_confirm(t->fresh[i].node, node, t->fresh[i].pc,
					   t->fresh[i].hash);
	return node;
}

u32 hwr_walk_slowly(struct hwr_thread *t, const struct hwr_caller *caller, u32 max_depth)
{
	struct hwr_cursor *c = &t->cursor;
	enum hwr_slow_result result = HWR_STEPPED;
	bool seen = false;
	u32 count = 0;

	hwr_capture(&c->registers);
	c->pc = c->registers.value[HWR_REG_RA];
	c->interrupted = true;
	c->sp_unknown = false;
	c->guessed = false;
	c->believed = 0;
	c->known_low = c->known_high = 0;
	while (result == HWR_STEPPED && count < max_depth) {
		seen |= c->pc == caller->pc && c->registers.value[HWR_REG_SP] == caller->sp;
		if (seen) {
			t->fresh[count].sp = c->registers.value[HWR_REG_SP];
			t->fresh[count++].pc = c->pc + (c->interrupted ? 1 : 0);
		}
		result = hwr_slow_step(c, &t->scratch);
	}
	t->fresh_count = count;
	if (result == HWR_BROKEN)
		hwr_walk_fault(t, HW_FAULT_STACK_BROKEN);
	if (result == HWR_STEPPED)
		hwr_walk_fault(t, HW_FAULT_STACK_CUT);
	return hwr_stack_node(t, count, result == HWR_STEPPED);
}
