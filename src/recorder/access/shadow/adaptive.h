/* SPDX-License-Identifier: MIT
 * Adaptive recording: memory that is hot is disarmed until the next epoch. Runs in the target.
 *
 * After HWR_ADAPTIVE_HITS accesses to a chunk in one epoch, each further one disarms its unit of the
 * chunk, 64 bytes, or 512 in large chunks. One unit in HWR_ADAPTIVE_SHARE, chosen at random, stays
 * armed instead, and its accesses count so many times: sums are estimates without bias. What was
 * disarmed is armed again when the next epoch begins, so that the last access is known to within one. */
#ifndef RECORDER_ADAPTIVE_H
#define RECORDER_ADAPTIVE_H

#include "recorder/heap/heap.h"

enum {
	HWR_ADAPTIVE_HITS = 64,
	HWR_ADAPTIVE_SHARE = 16,
	HWR_SHADOW_SAMPLED = 0x81, /* of a unit that stays armed for others */
};

struct hwr_sums;

/* Per chunk, beside its record. */
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

/* A chunk that is hot was hit at this address: how many times more the access counts. */
u32 hwr_adaptive_hot(u64 address, u64 offset, struct hwr_chunk *chunk);

static inline u32 hwr_adaptive_hit(u64 address, u64 offset, struct hwr_chunk *chunk)
{
	struct hwr_adaptive *adaptive = hwr_chunk_adaptive(chunk);
	u32 epoch = load_relaxed(&hwr_adaptive_epoch);

	if (unlikely(adaptive->epoch != epoch)) {
		adaptive->epoch = epoch;
		adaptive->hits = 1;
		return 0;
	}
	return likely(++adaptive->hits <= HWR_ADAPTIVE_HITS)
		       ? 0
		       : hwr_adaptive_hot(address, offset, chunk);
}

#endif
