/* SPDX-License-Identifier: MIT
 * Hand-made runs with accesses: chunks at given times. One tick is one ns. */
#ifndef UNIT_TEST_ACCESS_H
#define UNIT_TEST_ACCESS_H

#include "unit/test_analysis.h"

enum { START = 1000 }; /* ticks at which the image begins; see tell_image */

/* Allocates at a time after the start. */
static inline u64 alloc_at(struct feed *feed, u64 at, u8 kind, u32 context, u64 size)
{
	u64 chunk = feed->chunks++;

	tell_event(feed, (struct event){.ticks = START + at,
					.kind = kind,
					.context = context,
					.size = size,
					.chunk = chunk,
					.address = 0x100000 + 0x10000 * chunk});
	return chunk;
}

static inline void free_at(struct feed *feed, u64 at, u64 chunk, u64 size)
{
	tell_event(feed, (struct event){.ticks = START + at,
					.kind = HW_FREE,
					.chunk = chunk,
					.size = size,
					.address = 0x100000 + 0x10000 * chunk});
}

/* What was accessed of a chunk; first and last are times after the start. Bytes from 0 on. */
static inline void access_at(struct feed *feed, u64 chunk, u64 first, u64 last, u64 reads,
			     u64 writes, u64 bytes, u32 flags)
{
	struct stream_access row = {.chunk = chunk,
				    .first_ticks = START + first,
				    .last_ticks = START + last,
				    .reads = reads,
				    .writes = writes,
				    .read_bytes = reads,
				    .written_bytes = writes,
				    .high = bytes,
				    .covered_bytes = UINT64_MAX,
				    .flags = flags};

	if (!reads && !writes)
		row.first_ticks = row.last_ticks = 0;
	told(feed, feed->sink.accesses(feed->sink.self, &row, 1, &feed->err));
}

/* The run ends after so many ns. */
static inline void end_at(struct feed *feed, u64 at)
{
	struct stream_image_end end = {.ticks = START + at, .how = IMAGE_EXITED};

	tell_clock(feed, START + at, 5000 + at);
	told(feed, feed->sink.image_end(feed->sink.self, &end, &feed->err));
}

#endif
