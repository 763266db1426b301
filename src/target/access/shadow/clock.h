/* SPDX-License-Identifier: MIT
 * Who accesses, and when. Runs in the target, on the path of every recorded access.
 *
 * Reading the counter is dearer than all the rest of recording an access. So one reading serves the
 * accesses of a thread that follow it closely: HWR_CLOCK_HITS of them, and as long as nothing else
 * happens each reading a quarter more than the last, up to HWR_CLOCK_HITS_MOST. So times are late
 * by a quarter of the accesses since the last event at most, and a chunk that lives for
 * microseconds has a useful life. Events: the thread makes an allocator call, sleeps, is preempted
 * or has a signal (the kernel clears a word of the thread's rseq area then; see stamp.h), or the
 * beat changes: the monitor's, which it does at least every 50 ms, or in adaptive mode, where most
 * accesses are not recorded, the helper's, which it does every turn. --exact-times reads always; so
 * do systems without rseq. */
#ifndef TARGET_ACCESS_SHADOW_CLOCK_H
#define TARGET_ACCESS_SHADOW_CLOCK_H

#include "format/ticks.h"
#include "target/recorder/state/stamp.h"

enum { HWR_CLOCK_HITS = 16, HWR_CLOCK_HITS_MOST = 64, HWR_CLOCK_READINGS = 16 };

struct hwr_clock_served;

struct hwr_clock {
	u32 thread;    /* number of the thread, 1 to 65535; 0 = none yet */
	u32 hits_left; /* that the reading is good for */
	u32 hits;      /* that it was good for at first */
	u64 now;
	u64 *mark_word;
	struct hwr_clock_served *served; /* as soon as now is not 0 */
	const u32 *beat;
	u32 beat_seen;
	u64 readings[HWR_CLOCK_READINGS]; /* the last ones: a ring */
	u32 readings_count;
	/* The second report of an access that a compiler tells twice, by its first and its last
	 * byte. */
	u64 echo_address, echo_bytes;
	/* What was reported last of any number of bytes, read and written; see hwr_access_told. */
	struct {
		u64 address, bytes;
	} told[2];
};
extern __thread struct hwr_clock hwr_clock __attribute__((tls_model("initial-exec")));

/* How many accesses were recorded by threads with the same last bits in their number, and how many
 * of them were of controls (shadow/turns.h). Written by them, read by the adaptive helper. */
enum { HWR_CLOCK_SLOTS = 64 };
struct hwr_clock_served {
	_Alignas(HW_CACHE_LINE) u64 hits;
	u64 controls;
	u32 tid; /* of the last of these threads; the helper makes it 0 when the thread is gone */
};
extern struct hwr_clock_served hwr_clock_served[HWR_CLOCK_SLOTS];

/* After an event: 1, or HWR_CLOCK_HITS. */
extern u32 hwr_clock_hits;

/* For a new image. beat: NULL = the monitor's. */
void hwr_clock_init(u32 hits, const u32 *beat);

/* Gives the calling thread its number. */
u32 hwr_clock_enter(void);

static inline u32 hwr_clock_thread(void)
{
	u32 thread = hwr_clock.thread;

	return likely(thread) ? thread : hwr_clock_enter();
}

/* Reads the counter. */
u64 hwr_clock_read(void);

/* Whether the last reading serves one access more. */
static inline bool hwr_clock_serves(const struct hwr_clock *clock)
{
	return likely(clock->hits_left) &&
	       likely(load_relaxed(clock->mark_word) == (u64)&hwr_rseq_mark) &&
	       likely(load_relaxed(clock->beat) == clock->beat_seen);
}

static inline u64 hwr_clock_now(void)
{
	struct hwr_clock *clock = &hwr_clock;

	if (unlikely(!hwr_clock_serves(clock)))
		return hwr_clock_read();
	clock->hits_left--;
	return clock->now;
}

static inline u64 hwr_clock_keep(struct hwr_clock *clock, u64 now)
{
	clock->readings[clock->readings_count++ % HWR_CLOCK_READINGS] = now;
	return clock->now = now;
}

/* When this thread read the counter after it had read this, 0 if it did not yet: an access with
 * that time may be as late. The same if the reading is another thread's, or old. */
u64 hwr_clock_next(u64 reading);

/* The thread has read the counter for another reason. */
static inline void hwr_clock_set(u64 now)
{
	if (hwr_clock_hits == 1 || !hwr_clock.mark_word)
		return;
	store_relaxed(hwr_clock.mark_word, (u64)&hwr_rseq_mark);
	hwr_clock.beat_seen = load_relaxed(hwr_clock.beat);
	hwr_clock.hits = hwr_clock_hits;
	hwr_clock.hits_left = hwr_clock_hits - 1;
	hwr_clock_keep(&hwr_clock, now);
}

#endif
