/* SPDX-License-Identifier: MIT
 * The time of an event. Runs in the target.
 *
 * Reading the counter is the dearest part of a hook where it is slow (18 ns on a virtual x86_64,
 * half of everything). So where one call site has followed another within about a microsecond
 * before, the next few stamps of that pair are estimated: last stamp + usual gap. Pairs that are
 * further apart, pairs not seen before and every seventh event read the counter. Order between
 * threads never depends on stamps (the monitor matches by address), and --exact-times reads always. */
#ifndef RECORDER_STAMP_H
#define RECORDER_STAMP_H

#include "format/ticks.h"
#include "recorder/thread.h"

enum { HWR_PACE_MAX_TICKS = 2048 }; /* a longer gap is always measured */

static inline u8 hwr_pace_site(u64 pc) { return (u8)((pc * 0x9e3779b97f4a7c15ull) >> 56); }

/* Reads the counter. Stamps of one thread never go back. */
static inline u64 hwr_stamp_now(struct hwr_thread *t)
{
	u64 now = hw_ticks();

	t->stamp_read = now;
	if (likely(now > t->stamp))
		t->stamp = now;
	t->stamp_left = HWR_STAMPS_ESTIMATED;
	return t->stamp;
}

/* Reads the counter and learns the pace of this pair of sites. */
static inline u64 hwr_stamp_learn(struct hwr_thread *t, struct hwr_pace *pace, u8 site)
{
	u32 estimated = HWR_STAMPS_ESTIMATED - t->stamp_left;
	u64 before = t->stamp, read_before = t->stamp_read;
	u64 now = hwr_stamp_now(t);
	u64 gap = now - before;

	/* After estimates only the mean over all of them is known; and if they ran ahead of the
	 * counter, that this gap was taken too long. */
	if (pace->previous == t->pace_last + 1u && estimated)
		gap = (t->stamp_read - read_before) / (estimated + 1);
	else if (gap == 0)
		gap = pace->gap_ticks - pace->gap_ticks / 4;
	pace->gap_ticks = gap < HWR_PACE_MAX_TICKS ? (u32)gap : HWR_PACE_MAX_TICKS;
	pace->previous = t->pace_last + 1u;
	t->pace_last = site;
	return now;
}

/* The time of an event of thread t at call site pc. */
static inline u64 hwr_stamp(struct hwr_thread *t, u64 pc)
{
	u8 site = hwr_pace_site(pc);
	struct hwr_pace *pace = &t->pace[site];

	if (unlikely(pace->previous != t->pace_last + 1u || pace->gap_ticks >= HWR_PACE_MAX_TICKS ||
		     t->stamp_left == 0 || (t->run_flags & HW_RUN_EXACT_TIMES)))
		return hwr_stamp_learn(t, pace, site);
	t->stamp_left--;
	t->pace_last = site;
	return t->stamp += pace->gap_ticks;
}

#endif
