/* SPDX-License-Identifier: MIT
 * What is known of a chunk's accesses, added up and put aside. Runs in the target. */
#ifndef RECORDER_ACCESS_CHUNKS_H
#define RECORDER_ACCESS_CHUNKS_H

#include "recorder/heap/heap.h"

/* The sums of owner and others, as they are told. */
struct hwr_sums {
	u64 first, last;
	u64 reads, writes;
	u64 read_bytes, written_bytes;
	u64 low, high;
	u64 covered; /* UINT64_MAX = not measured */
	u64 size;
	u32 flags; /* HW_ACCESS_* */
};

/* False: the chunk was not measured. */
bool hwr_chunk_sums(u64 address, const struct hwr_chunk *chunk, struct hwr_sums *sums);

/* Coverage: a bit for each byte of the heap. False if there is no room for it. */
bool hwr_coverage_open(void);
void hwr_coverage_add(u64 address, u64 bytes);
u64 hwr_coverage_count(u64 address, u64 bytes);
/* Word `index` of the map of a chunk of so many bytes; see HW_ACCESS_MAP. */
u64 hwr_coverage_word(u64 address, u64 bytes, u32 index);

#endif
