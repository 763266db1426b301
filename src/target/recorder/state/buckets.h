/* SPDX-License-Identifier: MIT
 * Sets of addresses: each is in one of two candidate buckets of one cache line. A lookup reads both
 * whole, so an entry can simply be cleared. Runs in the target; lock-free. */
#ifndef TARGET_RECORDER_STATE_BUCKETS_H
#define TARGET_RECORDER_STATE_BUCKETS_H

#include "format/atomics.h"

enum { HWR_BUCKET = 8 };

struct hwr_buckets {
	u64 *words; /* HWR_BUCKET << bits of them */
	u32 bits;
};

/* mixed: of a key, what is hashed. */
static inline u64 *hwr_bucket_of(struct hwr_buckets self, u64 mixed, bool other)
{
	u64 hash = mixed * (other ? 0xc2b2ae3d27d4eb4full : 0x9e3779b97f4a7c15ull);

	return &self.words[(hash >> (64 - self.bits)) * HWR_BUCKET];
}

static inline bool hwr_bucket_swap(u64 *bucket, u64 from, u64 to)
{
	for (u32 i = 0; i < HWR_BUCKET; i++) {
		u64 found = from;

		if (load_relaxed(&bucket[i]) == from && cas_acq_rel(&bucket[i], &found, to))
			return true;
	}
	return false;
}

/* From 0 to the key adds it, the other way round drops it; false: there is no room, or it was not
 * there. */
static inline bool hwr_buckets_swap(struct hwr_buckets self, u64 mixed, u64 from, u64 to)
{
	return hwr_bucket_swap(hwr_bucket_of(self, mixed, false), from, to) ||
	       hwr_bucket_swap(hwr_bucket_of(self, mixed, true), from, to);
}

#endif
