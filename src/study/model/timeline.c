/* SPDX-License-Identifier: MIT
 * Buckets of the live-bytes series.
 * Host. Memory is fixed; a bucket into which nothing falls repeats the value before it. */
#include "study/model/timeline.h"

#include <string.h>

enum { FIRST_WIDTH_TICKS = 1 << 12 };

void timeline_start(struct timeline *self, u64 start_ticks)
{
	memset(self, 0, sizeof *self);
	self->start_ticks = start_ticks;
	self->width_ticks = FIRST_WIDTH_TICKS;
	self->limit_ticks = start_ticks + self->width_ticks;
}

static struct timeline_bucket merged(const struct timeline_bucket *a,
				     const struct timeline_bucket *b)
{
	struct timeline_bucket both = *b; /* the later one has the last values */

	if (a->min_bytes < both.min_bytes)
		both.min_bytes = a->min_bytes;
	if (a->max_bytes > both.max_bytes)
		both.max_bytes = a->max_bytes;
	if (a->max_chunks > both.max_chunks)
		both.max_chunks = a->max_chunks;
	both.allocations += a->allocations;
	return both;
}

/* Halves the resolution. An odd last bucket keeps a half-filled neighbour, which goes on
 * filling. */
static void halve(struct timeline *self)
{
	u32 used = self->current + 1;

	for (u32 i = 0; i < used / 2; i++)
		self->bucket[i] = merged(&self->bucket[2 * i], &self->bucket[2 * i + 1]);
	if (used % 2)
		self->bucket[used / 2] = self->bucket[used - 1];
	self->current = (used - 1) / 2;
	self->width_ticks *= 2;
}

void timeline_advance(struct timeline *self, u64 ticks)
{
	u64 bucket, last_bytes, last_chunks;

	if (ticks < self->start_ticks)
		return;
	/* A width of 2^62 covers all of time in four buckets, so this ends. */
	while ((ticks - self->start_ticks) / self->width_ticks >= TIMELINE_BUCKETS)
		halve(self);
	bucket = (ticks - self->start_ticks) / self->width_ticks;
	last_bytes = self->bucket[self->current].last_bytes;
	last_chunks = self->bucket[self->current].last_chunks;
	while (self->current < bucket)
		self->bucket[++self->current] =
			(struct timeline_bucket){.min_bytes = last_bytes,
						 .max_bytes = last_bytes,
						 .last_bytes = last_bytes,
						 .max_chunks = last_chunks,
						 .last_chunks = last_chunks};
	if (__builtin_mul_overflow(bucket + 1, self->width_ticks, &self->limit_ticks) ||
	    __builtin_add_overflow(self->limit_ticks, self->start_ticks, &self->limit_ticks))
		self->limit_ticks = UINT64_MAX;
}
