/* SPDX-License-Identifier: MIT
 * Live bytes and chunks over time, in at most TIMELINE_BUCKETS buckets of equal width. The width is
 * not known in advance: when time runs over the end, neighbours are merged and the width doubles.
 * Each bucket keeps lowest, highest and last value, so no peak is ever lost. */
#ifndef STUDY_MODEL_TIMELINE_H
#define STUDY_MODEL_TIMELINE_H

#include "format/types.h"

enum { TIMELINE_BUCKETS = 4096 };

struct timeline_bucket {
	u64 min_bytes, max_bytes, last_bytes;
	u64 max_chunks, last_chunks;
	u64 allocations; /* in the bucket */
};

struct timeline {
	u64 start_ticks;
	u64 width_ticks; /* of one bucket, a power of two */
	u64 limit_ticks; /* end of the current bucket */
	u32 current;     /* bucket that is being filled; later ones are empty */
	struct timeline_bucket bucket[TIMELINE_BUCKETS];
};

void timeline_start(struct timeline *self, u64 start_ticks);

/* Moves to the bucket of ticks, if that is later than the current one. */
void timeline_advance(struct timeline *self, u64 ticks);

/* State after an event. Late events (earlier ticks than the last) count in the current bucket. */
static inline void timeline_put(struct timeline *self, u64 ticks, u64 live_bytes, u64 live_chunks,
				bool allocates)
{
	struct timeline_bucket *bucket;

	if (unlikely(ticks >= self->limit_ticks))
		timeline_advance(self, ticks);
	bucket = &self->bucket[self->current];
	if (live_bytes > bucket->max_bytes)
		bucket->max_bytes = live_bytes;
	if (live_bytes < bucket->min_bytes)
		bucket->min_bytes = live_bytes;
	if (live_chunks > bucket->max_chunks)
		bucket->max_chunks = live_chunks;
	bucket->last_bytes = live_bytes;
	bucket->last_chunks = live_chunks;
	bucket->allocations += allocates;
}

#endif
