/* SPDX-License-Identifier: MIT
 * Sweeps: a program that writes or frees all it has, or a garbage collector, touches one unit after
 * the other, and each would be a fault. Where hits follow each other in memory, a hit opens some of
 * the next units, too, if they were hit lately themselves. Runs in the target, in the handler of
 * SIGSEGV. What it keeps is a guess that threads may spoil for each other. */
#include "target/access/heap/classes.h"
#include "target/access/pages/pages.h"
#include "target/access/pages/units.h"
#include "target/recorder/hooks/call.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

enum {
	CONFIRMED = 3, /* hits in a row before anything is opened */
	GAP = 8,       /* units that a sweep may leave out */
	DOUBLINGS = 6,
};

/* Of each class: what was hit last in a row. */
static struct sweep {
	u64 from, to;
	u32 length;
} sweeps[HWR_CLASSES];

/* Where the sweep goes on from: the first byte of what is next, or, downwards, the end of it; 0 if
 * this is none. */
static u64 follow(struct sweep *self, u64 start, u64 bytes, bool *down)
{
	u64 from = load_relaxed(&self->from), to = load_relaxed(&self->to);
	bool up = start >= to && start - to <= GAP * bytes;

	*down = start < from && from - start <= (GAP + 1) * bytes;
	store_relaxed(&self->from, start);
	store_relaxed(&self->to, start + bytes);
	if (!up && !*down) {
		store_relaxed(&self->length, 0);
		return 0;
	}
	store_relaxed(&self->length, load_relaxed(&self->length) + 1);
	return *down ? start : start + bytes;
}

static u64 count_of(u32 length, u64 most)
{
	u32 doublings = length - CONFIRMED < DOUBLINGS ? length - CONFIRMED : DOUBLINGS;

	return 2ull << doublings < most ? 2ull << doublings : most;
}

static void told(void *call, u64 unit) { hwr_call_hit(call, HW_HIT_AROUND, unit); }

/* No handler of the program may run meanwhile: it would wait for what this thread is opening. */
static __attribute__((noinline)) void open_masked(struct hwr_call *call, u64 from, u64 to,
						  u64 bytes)
{
	u64 all = ~0ull, mask = 0;

	hwr_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, 8, 0, 0);
	add_relaxed(&hwr_control->pages.around, hwr_units_open_range(from, to, bytes, told, call));
	hwr_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
}

void hwr_pages_around(struct hwr_call *call, u64 address)
{
	u32 number = hwr_heap_class(address);
	u64 region = HW_HEAP_START + ((u64)number << HWR_CLASS_BITS), bytes, next, end;
	u64 start = hwr_unit_start(address, &bytes);
	struct sweep *sweep = &sweeps[number];
	bool down;

	store_relaxed(&hwr_unit_at(start)->credits, HWR_CREDITS);
	next = follow(sweep, start, bytes, &down);
	if (!next || load_relaxed(&sweep->length) < CONFIRMED)
		return;
	end = count_of(load_relaxed(&sweep->length),
		       load_relaxed(&hwr_control->pages.around_most)) *
	      bytes;
	if (down) {
		u64 from = next - region > end ? next - end : region;

		open_masked(call, from, next, bytes);
		store_relaxed(&sweep->from, from);
	} else {
		u64 used = region + hwr_slots_used(number) * hwr_classes[number].slot_bytes;
		u64 to = next + end < used ? next + end : used;

		open_masked(call, next, to, bytes);
		store_relaxed(&sweep->to, to > next ? to : next);
	}
}
