/* SPDX-License-Identifier: MIT
 * Adaptive recording: memory that is hot is disarmed until the next epoch. Runs in the target.
 *
 * An access after HWR_ADAPTIVE_HITS ones to a unit of a chunk, 64 bytes, disarms the unit; in large chunks
 * units have 512 bytes, and after HWR_ADAPTIVE_HITS_LARGE accesses to the chunk in an epoch each further one
 * disarms its unit. What was disarmed is armed again when the next epoch begins, so that the last access is known to
 * within one.
 *
 * One unit in HWR_ADAPTIVE_SHARE stays armed instead, and its accesses count so many times. Units take
 * turns, so that each has its share of the program's progress, and sums are estimates without bias; see
 * turns.h. A few, the controls, always stay armed, and their accesses count once. */
#ifndef RECORDER_ADAPTIVE_H
#define RECORDER_ADAPTIVE_H

#include "recorder/access/shadow/turns.h"
#include "recorder/heap/heap.h"

enum {
	HWR_ADAPTIVE_HITS = 16,
	HWR_ADAPTIVE_HITS_LARGE = 64,
	HWR_ADAPTIVE_SHARE = HWR_TURNS,
	HWR_ADAPTIVE_UNIT = 64,
	HWR_ADAPTIVE_LARGE =
		4096, /* slots above have large units, which are armed again one by one */
	/* All from HW_SHADOW_ARMED on are armed. The first byte of a small unit counts its accesses. */
	HWR_SHADOW_HOT = HW_SHADOW_ARMED + HWR_ADAPTIVE_HITS,
	HWR_SHADOW_SAMPLED = 0xff, /* of a unit that stays armed for others */
	HWR_SHADOW_CONTROL = 0xfe, /* of a control; none is above but SAMPLED */
};

struct hwr_sums;

/* Per large chunk, beside its record. */
struct hwr_adaptive {
	u32 epoch;
	u32 hits; /* in this epoch */
};

static inline struct hwr_adaptive *hwr_chunk_adaptive(const struct hwr_chunk *chunk)
{
	return (struct hwr_adaptive *)(HW_HEAP_CHUNKS + (3ull << 39) +
				       ((u64)chunk - HW_HEAP_CHUNKS) / 8);
}

extern u32 hwr_adaptive_epoch; /* number of the present one; 0 = this run is not adaptive */

/* Starts epochs of this length; false if it cannot. */
bool hwr_adaptive_start(u64 epoch_ns);

void hwr_adaptive_begin(u64 address, struct hwr_chunk *chunk, u64 before);

/* The class of 4096 bytes is the last one with small units. */
#define HWR_ADAPTIVE_SMALL_END (HW_HEAP_START + (28ull << HWR_CLASS_BITS))

static inline bool hwr_adaptive_is_hot_large(const struct hwr_chunk *chunk)
{
	struct hwr_adaptive *adaptive = hwr_chunk_adaptive(chunk);
	u32 epoch = load_relaxed(&hwr_adaptive_epoch);

	if (unlikely(adaptive->epoch != epoch)) {
		adaptive->epoch = epoch;
		adaptive->hits = 1;
		return false;
	}
	return ++adaptive->hits > HWR_ADAPTIVE_HITS_LARGE;
}

/* A chunk that is hot was hit at this address: how many times more the access counts. */
u32 hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk);

/* Counts an access. What is counted lies in the line of the shadow that the program has just read; so a program
 * that accesses very much memory, and none of it often, misses the cache no more than in exact mode. */
static inline bool hwr_adaptive_is_hot(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	if (likely(address < HWR_ADAPTIVE_SMALL_END)) {
		u8 *count = hw_shadow_of(address - offset % HWR_ADAPTIVE_UNIT);
		u32 hits = load_relaxed(count);

		if (unlikely((u8)(hits - HW_SHADOW_ARMED) >= HWR_ADAPTIVE_HITS))
			return true;
		store_relaxed(count, (u8)(hits + 1));
		return false;
	}
	return hwr_adaptive_is_hot_large(chunk);
}

static inline u32 hwr_adaptive_hit(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	return hwr_adaptive_is_hot(address, offset, chunk)
		       ? hwr_adaptive_hot(address, offset, chunk)
		       : 0;
}

#endif
