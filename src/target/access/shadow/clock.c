/* SPDX-License-Identifier: MIT
 * The rare half of clock.h. Runs in the target. */
#include "target/access/shadow/clock.h"

#include "target/access/shadow/adaptive.h"
#include "target/recorder/state/sys.h"

enum { THREADS_MAX = 65535 };

__thread struct hwr_clock hwr_clock;
u32 hwr_clock_hits = 1;

struct hwr_clock_served hwr_clock_served[HWR_CLOCK_SLOTS];

static u32 threads;
static u32 no_beat;
static const u32 *common_beat = &no_beat;

void hwr_clock_init(u32 hits, const u32 *beat)
{
	hwr_clock_hits = hwr_stamp_has_mark() ? hits : 1;
	common_beat = beat ? beat : hwr_lobby ? &hwr_lobby->beat : &no_beat;
	hwr_clock.hits_left = hwr_clock.hits = 0;
	if (!hwr_clock.thread)
		return;
	/* The first allocation of all came before the session, or another process has forked this
	 * one. */
	hwr_clock.beat = common_beat;
	store_relaxed(&hwr_clock.served->tid, hwr_gettid());
}

/* Numbers are used again after 65,535 threads: two that have the same look like one. */
u32 hwr_clock_enter(void)
{
	if (!hwr_clock.thread) {
		hwr_clock.beat = common_beat;
		hwr_clock.mark_word = hwr_stamp_mark_word();
		hwr_clock.thread = add_relaxed(&threads, 1) % THREADS_MAX + 1;
		hwr_clock.served = &hwr_clock_served[hwr_clock.thread % HWR_CLOCK_SLOTS];
		store_relaxed(&hwr_clock.served->tid, hwr_gettid());
	}
	return hwr_clock.thread;
}

/* Nothing has happened but accesses. */
static bool ran_out(const struct hwr_clock *clock)
{
	return !clock->hits_left && load_relaxed(clock->mark_word) == (u64)&hwr_rseq_mark &&
	       load_relaxed(clock->beat) == clock->beat_seen;
}

/* How many accesses the next reading serves. */
static u32 next_hits(const struct hwr_clock *clock)
{
	u32 more = clock->hits + clock->hits / 4;

	if (hwr_clock_hits == 1 || !clock->hits || !ran_out(clock))
		return hwr_clock_hits;
	return more < HWR_CLOCK_HITS_MOST ? more : HWR_CLOCK_HITS_MOST;
}

u64 hwr_clock_read(void)
{
	struct hwr_clock *clock = &hwr_clock;
	struct hwr_clock_served *served;
	u64 now;

	hwr_clock_enter();
	if (unlikely(load_relaxed(&hwr_adaptive_waits)))
		hwr_adaptive_lend();
	served = clock->served;
	/* Two threads of one slot may lose some: it is for an estimate only. */
	store_relaxed(&served->hits, load_relaxed(&served->hits) + clock->hits - clock->hits_left);
	clock->hits = next_hits(clock);
	if (hwr_clock_hits > 1)
		store_relaxed(clock->mark_word, (u64)&hwr_rseq_mark);
	clock->beat_seen = load_relaxed(clock->beat);
	now = hw_ticks();
	clock->hits_left = clock->hits - 1;
	return hwr_clock_keep(clock, now);
}

u64 hwr_clock_next(u64 reading)
{
	const struct hwr_clock *clock = &hwr_clock;
	u32 count = clock->readings_count,
	    oldest = count > HWR_CLOCK_READINGS ? count - HWR_CLOCK_READINGS : 0;
	u64 next = 0;

	for (u32 i = count; i-- > oldest;) {
		u64 one = clock->readings[i % HWR_CLOCK_READINGS];

		if (one == reading)
			return next;
		next = one;
	}
	return reading;
}
