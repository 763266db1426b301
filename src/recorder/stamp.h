/* SPDX-License-Identifier: MIT
 * The time of an event. Runs in the target.
 *
 * Reading the counter is the dearest part of a hook where it is slow (18 ns on a virtual x86_64,
 * half of everything). So, in a process that has one thread only, where one call site has followed
 * another within about a microsecond before, the next few stamps of that pair are estimated: last
 * stamp + usual gap. The counter is read for pairs that are not known, for pairs that were further
 * apart now and then, for every seventh event, and whenever the thread has slept, was preempted or
 * had a signal since the last reading: the kernel tells that by clearing a word of the thread's
 * restartable-sequence area (rseq(2)), where there is one. --exact-times reads always. */
#ifndef RECORDER_STAMP_H
#define RECORDER_STAMP_H

#include "format/ticks.h"
#include "recorder/unwind/walk.h"

enum {
	HWR_PACE_MAX_TICKS = 2048, /* a longer gap is always measured */
	HWR_PACE_LONG = 16,        /* what a long gap adds to the score; a short one takes 1 away */
	HWR_PACE_IRREGULAR = 64,   /* from this score on the pair is always measured */
};

/* How many stamps in a row may be estimated: 0 as soon as there is a second thread. */
extern u32 hwr_stamps_estimated;

/* What the rseq area points to while nothing has disturbed the thread; see stamp.c. */
extern const struct hwr_rseq_mark hwr_rseq_mark;

/* For a new image: estimate, or not. */
void hwr_stamp_init(bool exact);

/* Where the kernel leaves its mark for the calling thread, or a word that always looks disturbed. */
u64 *hwr_stamp_mark_word(void);

/* The site of a call that is not walked. */
static inline u16 hwr_stamp_site(const struct hwr_caller *caller)
{
	return (u16)(HWR_MEMO_ENTRIES + (hwr_caller_hash(caller) >> 55) % HWR_MEMO_ENTRIES);
}

/* Reads the counter. Stamps of one thread never go back. */
static inline u64 hwr_stamp_now(struct hwr_thread *t)
{
	u64 now;

	if (load_relaxed(&hwr_stamps_estimated))
		store_relaxed(t->mark_word, (u64)&hwr_rseq_mark);
	now = hw_ticks();
	t->stamp_read = now;
	if (likely(now > t->stamp))
		t->stamp = now;
	t->stamp_estimates = 0;
	return t->stamp;
}

/* Reads the counter and learns the pace of this pair of sites. */
static inline u64 hwr_stamp_learn(struct hwr_thread *t, struct hwr_pace *pace, u16 site)
{
	bool disturbed = load_relaxed(t->mark_word) != (u64)&hwr_rseq_mark;
	bool known = pace->previous == t->pace_last + 1u;
	u64 before = t->stamp, read_before = t->stamp_read;
	u32 estimates = t->stamp_estimates;
	u64 now = hwr_stamp_now(t);
	u64 gap = now - before;

	/* After estimates only the mean over all of them is known. */
	if (estimates)
		gap = (t->stamp_read - read_before) / (estimates + 1);
	if (!disturbed && (known || !estimates)) {
		if (!known)
			pace->score = 0;
		if (gap >= HWR_PACE_MAX_TICKS)
			pace->score += pace->score < 1024 ? HWR_PACE_LONG : 0;
		else if (pace->score)
			pace->score--;
		pace->gap_ticks = gap < HWR_PACE_MAX_TICKS ? (u32)gap : HWR_PACE_MAX_TICKS;
		pace->previous = (u16)(t->pace_last + 1u);
	}
	t->pace_last = site;
	return now;
}

/* The time of an event of thread t; site tells the places in the program apart: the memo entry of
 * its stack, or hwr_stamp_site. */
static inline u64 hwr_stamp(struct hwr_thread *t, u16 site)
{
	struct hwr_pace *pace = &t->pace[site];

	if (unlikely(pace->previous != t->pace_last + 1u || pace->gap_ticks >= HWR_PACE_MAX_TICKS ||
		     pace->score >= HWR_PACE_IRREGULAR ||
		     t->stamp_estimates >= load_relaxed(&hwr_stamps_estimated) ||
		     load_relaxed(t->mark_word) != (u64)&hwr_rseq_mark))
		return hwr_stamp_learn(t, pace, site);
	t->stamp_estimates++;
	t->pace_last = site;
	return t->stamp += pace->gap_ticks;
}

#endif
