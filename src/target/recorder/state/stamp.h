/* SPDX-License-Identifier: MIT
 * The time of an event. Runs in the target.
 *
 * Reading the counter is the dearest part of a hook where it is slow (18 ns on a virtual x86_64,
 * half of everything). So, in a process that has one thread only, where one call site has followed
 * another within about a microsecond before, the next few stamps of that pair are estimated: last
 * stamp + usual gap. The counter is read for pairs that are not known, for pairs that were further
 * apart now and then, for every fifteenth event, and whenever the thread has slept, was preempted
 * or had a signal since the last reading: the kernel tells that by clearing a word of the thread's
 * restartable-sequence area (rseq(2)), where there is one. --exact-times reads always. */
#ifndef TARGET_RECORDER_STATE_STAMP_H
#define TARGET_RECORDER_STATE_STAMP_H

#include "format/ticks.h"
#include "target/recorder/state/caller.h"
#include "target/recorder/state/thread.h"

enum {
	HWR_PACE_MAX_TICKS = 2048, /* a longer gap is always measured */
	HWR_PACE_LONG = 16,        /* what a long gap adds to the score; a short one takes 1 away */
	HWR_PACE_IRREGULAR = 64,   /* from this score on the pair is always measured */
	HWR_PACE_NOWHERE = 0x7fff, /* the site of events on the careful path */
	HWR_STAMP_FAR_AHEAD = 1 << 16, /* in hwr_thread.stamp_estimates: no more of them */
};

/* How many stamps in a row may be estimated: 0 as soon as there is a second thread. */
extern u32 hwr_stamps_estimated HWR_OWN;

/* What the rseq area points to while nothing has disturbed the thread; see stamp.c. */
extern const struct hwr_rseq_mark hwr_rseq_mark HWR_OWN;

/* Ticks from one reading of the counter to the next if nothing is between them. */
extern u64 hwr_stamp_cost HWR_OWN;

/* For a new image: estimate, or not. */
void hwr_stamp_init(bool exact);

/* Whether there is such a mark on this system. */
bool hwr_stamp_has_mark(void);

/* Where the kernel leaves its mark for the calling thread, or a word that always looks
 * disturbed. */
u64 *hwr_stamp_mark_word(void);

/* The CPU that the calling thread runs on; negative if that is not known. */
int hwr_stamp_cpu(void);

/* The site of a call that is not walked: beyond those of walked ones, the memo's entries. */
static inline u32 hwr_stamp_site(const struct hwr_caller *caller)
{
	return HWR_MEMO_ENTRIES + (u32)(hwr_caller_hash(caller) >> 55);
}

/* Number of the pair that the thread's last event and this one are; never 0. */
static inline u32 hwr_stamp_pair(const struct hwr_thread *t, u32 site)
{
	return t->pace_last << 16 | site | 1u << 31;
}

static inline struct hwr_pace *hwr_stamp_pace(struct hwr_thread *t, u32 pair)
{
	return &t->pace[pair * 0x9e3779b1u >> 22];
}
_Static_assert(HWR_PACES == 1 << 10, "hwr_stamp_pace takes 10 bits");

/* The counter was read. Stamps of one thread never go back. After estimates that were ahead of it
 * they still differ, by a nanosecond where the counter tells so little apart: what was live at a
 * time, the peak's say, is then the same by time as by order. From far ahead there are no further
 * estimates: they would add to it without end, and what another thread does later would seem to
 * come before. */
static inline void hwr_stamp_advance(struct hwr_thread *t, u64 now)
{
	bool behind = unlikely(now <= t->stamp);

	t->stamp_read = now;
	t->stamp_estimates =
		behind && t->stamp - now > HWR_PACE_MAX_TICKS ? HWR_STAMP_FAR_AHEAD : 0;
	t->stamp = behind ? t->stamp + HW_TICKS_APART : now;
}

/* Reads the counter. */
static inline u64 hwr_stamp_read(struct hwr_thread *t)
{
	hwr_stamp_advance(t, hw_ticks());
	return t->stamp;
}

/* The same, and from here on the kernel tells whether the thread is disturbed. */
static inline u64 hwr_stamp_now(struct hwr_thread *t)
{
	if (load_relaxed(&hwr_stamps_estimated))
		store_relaxed(t->mark_word, (u64)&hwr_rseq_mark);
	return hwr_stamp_read(t);
}

/* The stamp of an event on the careful path, where the counter was read already. Estimates before
 * it may be ahead of the counter. */
static inline u64 hwr_stamp_take(struct hwr_thread *t, u64 now)
{
	hwr_stamp_advance(t, now);
	t->pace_last = HWR_PACE_NOWHERE;
	return t->stamp;
}

/* Whether the pace tells the time of the thread's event. */
static inline bool hwr_stamp_is_known(const struct hwr_thread *t, const struct hwr_pace *pace,
				      u32 pair)
{
	return pace->pair == pair && pace->gap_ticks < HWR_PACE_MAX_TICKS &&
	       pace->score < HWR_PACE_IRREGULAR &&
	       t->stamp_estimates < load_relaxed(&hwr_stamps_estimated) &&
	       load_relaxed(t->mark_word) == (u64)&hwr_rseq_mark;
}

static inline u64 hwr_stamp_estimate(struct hwr_thread *t, const struct hwr_pace *pace, u32 site)
{
	t->stamp_estimates++;
	t->pace_last = site;
	return t->stamp += pace->gap_ticks;
}

/* Where hwr_stamp does not know the pair's pace: looks further, or reads the counter and learns
 * it. */
u64 hwr_stamp_learn(struct hwr_thread *t, u32 site);

/* The time of an event of thread t; site tells the places in the program apart: the memo entry of
 * its stack, or hwr_stamp_site. */
static inline __attribute__((always_inline)) u64 hwr_stamp(struct hwr_thread *t, u32 site)
{
	u32 pair = hwr_stamp_pair(t, site);
	const struct hwr_pace *pace = hwr_stamp_pace(t, pair);

	/* then it is so for good: there is nothing to learn */
	if (unlikely(!load_relaxed(&hwr_stamps_estimated)))
		return hwr_stamp_read(t);
	if (unlikely(!hwr_stamp_is_known(t, pace, pair)))
		return hwr_stamp_learn(t, site);
	return hwr_stamp_estimate(t, pace, site);
}

#endif
