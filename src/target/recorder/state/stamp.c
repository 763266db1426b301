/* SPDX-License-Identifier: MIT
 * What the estimation of stamps needs of the kernel: rseq. Runs in the target.
 *
 * A thread's rseq area has a pointer to the restartable sequence that it is in. The kernel clears
 * it when it preempts the thread, or delivers a signal, outside of that sequence. We point it to a
 * sequence that no code is ever in, so the pointer stays until just that happens. A program that
 * uses rseq itself sets the pointer before each of its sequences; then we see a disturbance
 * more. */
#include "target/recorder/state/stamp.h"

#include <sys/types.h>

#include "target/recorder/state/sys.h"

struct hwr_rseq_mark { /* struct rseq_cs of the kernel */
	u32 version, flags;
	const void *start;
	u64 bytes;
	const void *abort;
} __attribute__((aligned(32)));

/* The kernel wants the signature before the place that a restarted sequence continues at. */
static const struct {
	u32 signature;
	u32 nowhere;
} landing = {HWR_RSEQ_SIGNATURE, 0};

const struct hwr_rseq_mark hwr_rseq_mark = {
	.start = &landing.signature,
	.bytes = 1,
	.abort = &landing.nowhere,
};

u32 hwr_stamps_estimated;
u64 hwr_stamp_cost;

enum { RSEQ_CPU_OFFSET = 4, RSEQ_CS_OFFSET = 8, RSEQ_BYTES = 20 };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

bool hwr_stamp_has_mark(void) { return &__rseq_size && __rseq_size >= RSEQ_BYTES; }

void hwr_stamp_init(bool exact)
{
	enum { READINGS = 16 };
	u64 before = hw_ticks();

	hwr_stamp_cost = UINT64_MAX;
	for (u32 i = 0; i < READINGS; i++) {
		u64 now = hw_ticks();

		if (now - before < hwr_stamp_cost)
			hwr_stamp_cost = now - before;
		before = now;
	}
	hwr_stamps_estimated = !exact && hwr_stamp_has_mark() ? HWR_STAMPS_ESTIMATED : 0;
}

/* If there is a mark. */
static u8 *rseq_area(void) { return (u8 *)hwr_thread_pointer() + __rseq_offset; }

u64 *hwr_stamp_mark_word(void)
{
	static u64 always_disturbed;

	return hwr_stamp_has_mark() ? (u64 *)(rseq_area() + RSEQ_CS_OFFSET) : &always_disturbed;
}

int hwr_stamp_cpu(void)
{
	return hwr_stamp_has_mark() ? load_relaxed((int *)(rseq_area() + RSEQ_CPU_OFFSET)) : -1;
}

/* Two pairs may have one place: the other is its neighbour's. Whichever was used last comes first.
 * True if this pair was known there. */
static bool take_first_place(struct hwr_thread *t, u32 pair)
{
	struct hwr_pace *first = hwr_stamp_pace(t, pair),
			*second = t->pace + ((first - t->pace) ^ 1);
	struct hwr_pace before = *first;

	if (before.pair == pair)
		return false;
	*first = *second;
	*second = before;
	return first->pair == pair;
}

u64 hwr_stamp_learn(struct hwr_thread *t, u32 site)
{
	u32 pair = hwr_stamp_pair(t, site);
	struct hwr_pace *pace = hwr_stamp_pace(t, pair);
	bool disturbed = load_relaxed(t->mark_word) != (u64)&hwr_rseq_mark;
	bool found = take_first_place(t, pair), known = pace->pair == pair;
	u64 read_before = t->stamp_read, now, gap;
	u32 estimates = t->stamp_estimates % HWR_STAMP_FAR_AHEAD;

	if (found && hwr_stamp_is_known(t, pace, pair))
		return hwr_stamp_estimate(t, pace, site);
	now = hwr_stamp_now(t);
	/* After estimates only the mean over all of them is known. */
	gap = (t->stamp_read - read_before) / (estimates + 1);
	if (!disturbed && (known || !estimates)) {
		if (!known)
			pace->score = 0;
		if (gap >= HWR_PACE_MAX_TICKS)
			pace->score += pace->score < 1024 ? HWR_PACE_LONG : 0;
		else if (pace->score)
			pace->score--;
		pace->gap_ticks = gap < HWR_PACE_MAX_TICKS ? (u16)gap : HWR_PACE_MAX_TICKS;
		pace->pair = pair;
	}
	t->pace_last = site;
	return now;
}
