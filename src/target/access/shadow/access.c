/* SPDX-License-Identifier: MIT
 * Beginning to record accesses; see access.h. Runs in the target. */
#include "target/recorder/state/access.h"

#include "target/access/heap/asks.h"
#include "target/access/heap/guard.h"
#include "target/access/heap/heap.h"
#include "target/access/shadow/adaptive.h"
#include "target/access/shadow/chunks.h"
#include "target/access/shadow/clock.h"
#include "target/access/shadow/shadow.h"
#include "target/recorder/state/real.h"

static const u64 default_epoch_ns = 20000000;

struct hwr_real hwr_libc;

void hwr_access_allocator(struct hwr_real *real)
{
	hwr_libc = *real; /* every thread finds the same */
	if (!hwr_heap_open())
		return;
	hwr_heap_replace(real);
	hwr_guard_libc();
}

static void start_clock(void)
{
	bool adaptive = hwr_control->access == HW_ACCESS_ADAPTIVE;

	hwr_clock_init(hwr_control->flags & HW_RUN_EXACT_TIMES ? 1 : HWR_CLOCK_HITS,
		       adaptive ? &hwr_adaptive_beat : NULL);
}

void hwr_access_attach(void)
{
	u32 wanted = hwr_control->flags & (HW_RUN_ACCESS_EXACT | HW_RUN_ACCESS_ADAPTIVE);
	bool coverage = hwr_control->flags & HW_RUN_COVERAGE;

	hwr_control->access = HW_ACCESS_NONE;
	if (!hwr_control->access_epoch_ns)
		hwr_control->access_epoch_ns = default_epoch_ns;
	if (!wanted)
		return;
	if (!hwr_heap_open() || !hwr_shadow_open()) {
		hwr_fault(HW_FAULT_NO_HEAP);
		return;
	}
	if (coverage && !hwr_coverage_open())
		coverage = false;
	hwr_control->access =
		wanted & HW_RUN_ACCESS_ADAPTIVE ? HW_ACCESS_ADAPTIVE : HW_ACCESS_EXACT;
	if (hwr_control->access == HW_ACCESS_ADAPTIVE &&
	    !hwr_adaptive_start(hwr_control->access_epoch_ns))
		hwr_control->access = HW_ACCESS_EXACT;
	if (hwr_control->access == HW_ACCESS_EXACT)
		hwr_control->access_epoch_ns = 0;
	start_clock();
	hwr_shadow_listen(hwr_control->access, coverage);
	hwr_heap_arm();
}

bool hwr_access_helper_needs(u32 number) { return hwr_adaptive_needs(number); }

void hwr_access_helper_stop(void)
{
	if (!hwr_adaptive_stop())
		return;
	hwr_shadow_listen(HW_ACCESS_EXACT,
			  hwr_control->flags & HW_RUN_COVERAGE && hwr_coverage_open());
	hwr_adaptive_arm_all();
}

void hwr_access_thread(struct hwr_thread *t) { (void)t; }

void hwr_access_begin(u64 address, u64 ticks, const struct hwr_caller *caller)
{
	struct hwr_chunk *chunk;
	u64 offset;

	hwr_clock_set(ticks);
	if (!hwr_heap_has(address) || !hwr_heap_is_armed())
		return;
	chunk = hwr_heap_find(address, &offset);
	/* A realloc has copied before it is over. Nobody else knows the chunk yet; no access to it
	 * is earlier than this. */
	if (chunk->first)
		chunk->first = ticks;
	chunk->last = ticks;
	if (hwr_shadow_is_instrumented(caller->pc))
		return;
	or_relaxed(&chunk->what, HWR_CHUNK_PLAIN);
}
