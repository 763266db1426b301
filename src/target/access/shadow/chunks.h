/* SPDX-License-Identifier: MIT
 * What is known of a chunk's accesses, added up and put aside. Runs in the target. */
#ifndef TARGET_ACCESS_SHADOW_CHUNKS_H
#define TARGET_ACCESS_SHADOW_CHUNKS_H

#include "format/record.h"
#include "target/access/heap/chunk.h"

/* The sums of owner and others, as they are told. */
struct hwr_sums {
	u64 first, last;
	u64 reads, writes;
	u64 read_bytes, written_bytes;
	u64 low, high;
	u64 covered;         /* UINT64_MAX = not measured */
	u64 sides[HW_SIDES]; /* of these, those that were read, and those that were written */
	u64 size;
	u32 flags; /* HW_ACCESS_* */
};

/* Which bytes were read and which were written, as HW_ACCESS_MAP has them. Known if coverage was
 * measured, of chunks of at most HW_MAP_BYTES; words beyond the chunk's size are not set. */
struct hwr_maps {
	u64 sides[HW_SIDES][HW_MAP_WORDS];
};

/* False: the chunk was not measured. */
bool hwr_chunk_sums(u64 address, const struct hwr_chunk *chunk, struct hwr_sums *sums,
		    struct hwr_maps *maps);

/* Coverage: two bits for each byte of the heap. False if there is no room for it. */
bool hwr_coverage_open(void);
void hwr_coverage_add(u64 address, u64 bytes, bool write);

#endif
