/* SPDX-License-Identifier: MIT
 * The live blocks of a program by address, and what a scan knows of each: which block an address
 * lies in is asked for every word of memory that is searched. Memory only. */
#ifndef LIVE_SCAN_INDEX_H
#define LIVE_SCAN_INDEX_H

#include "host/base/vec.h"
#include "live/drain/correlate.h"
#include "live/scan/memory.h"

struct scan_block {
	u64 address; /* first: what it is sorted by */
	u64 size;
	u64 chunk;
};

/* Blocks that lie near each other. It is cut into granules, about as many as it has blocks; of each
 * the table knows how many blocks of the region begin before it. */
struct scan_region {
	u64 start, end;   /* from the first block's start to the last one's end */
	u32 first, count; /* blocks */
	u32 granules;     /* first entry in the table; there is one more entry than granules */
	u32 shift;
};

/* Bytes that a block claims and that are not there: a program's own allocator may tell any size. */
struct scan_cut {
	u32 block;
	u64 bytes;
};

struct scan_index { /* all zero = empty */
	VEC(struct scan_block) blocks;
	VEC(struct scan_cut) cuts; /* from these blocks' sizes */
	VEC(struct scan_region) regions;
	VEC(u32) table;
	u64 bytes; /* of all blocks */
};

#define NO_BLOCK UINT32_MAX

enum {
	SCAN_LARGE = 64 << 10, /* blocks of this size are read without pages never touched */
};

/* The blocks from `first` on, below `end`, that are read in one piece, which ends at *piece_end;
 * `first` if that one is large. */
u32 scan_index_piece(const struct scan_index *self, u32 first, u32 end, u64 *piece_end);

/* Takes the correlator's live blocks; 0 or a negative code. */
int scan_index_fill(struct scan_index *self, const struct correlator *correlator, struct err *err);

/* Builds it from the blocks, which are in any order. They end where the mapped memory that they
 * begin in does. */
int scan_index_build(struct scan_index *self, const struct scan_memory *memory, struct err *err);

/* Bytes of the regions where blocks are, in all. */
u64 scan_index_span(const struct scan_index *self);

void scan_index_release(struct scan_index *self);

/* Sorts by the number that each item begins with; false without memory. */
bool scan_sort(void *items, u64 count, u64 item_bytes);

/* Bytes of memory that a block stands for: one of no bytes is found at its first address. */
static inline u64 scan_block_extent(const struct scan_block *block)
{
	return block->size ? block->size : 1;
}

/* The block of `count` from `first` on that begins last at or before address; first - 1 if none. */
static inline u64 scan_last_before(const struct scan_index *self, u64 first, u64 count, u64 address)
{
	const struct scan_block *blocks = self->blocks.data;

	while (count) {
		u64 half = count / 2;

		if (blocks[first + half].address <= address) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first - 1;
}

static inline const struct scan_region *scan_region_of(const struct scan_index *self, u64 address)
{
	const struct scan_region *regions = self->regions.data;
	u64 first = 0;

	/* The first region that ends after it; without branches, since addresses come in no
	 * order. */
	for (u64 count = self->regions.count, half; count; count -= half) {
		half = (count + 1) / 2;
		first += half * (regions[first + half - 1].end <= address);
	}
	if (first == self->regions.count || regions[first].start > address)
		return NULL;
	return &regions[first];
}

/* Blocks of the region that begin before the address's granule; and, behind it, before the next. */
static inline const u32 *scan_granule(const struct scan_index *self,
				      const struct scan_region *region, u64 address)
{
	return &self->table.data[region->granules + ((address - region->start) >> region->shift)];
}

/* The block that an address of the region lies in, or NO_BLOCK. */
static inline u32 scan_region_find(const struct scan_index *self, const struct scan_region *region,
				   u64 address)
{
	const u32 *granule = scan_granule(self, region, address);
	u64 at = scan_last_before(self, (u64)region->first + granule[0], granule[1] - granule[0],
				  address);

	/* at can be that before the granule's first: it may reach into it. */
	if (at < region->first ||
	    address - self->blocks.data[at].address >= scan_block_extent(&self->blocks.data[at]))
		return NO_BLOCK;
	return (u32)at;
}

/* Of each address, at most SCAN_GROUP, the block that it lies in, or NO_BLOCK: stage by stage, so
 * that the tables come from memory for all of them at the same time. */
enum { SCAN_GROUP = 32 };
void scan_index_find_all(const struct scan_index *self, const u64 *addresses, u32 *blocks,
			 u32 count);

/* The block that the address lies in, or NO_BLOCK. */
static inline u32 scan_index_find(const struct scan_index *self, u64 address)
{
	const struct scan_region *region = scan_region_of(self, address);

	return region ? scan_region_find(self, region, address) : NO_BLOCK;
}

/* The block whose last byte is just before the address, which lies in no block; or NO_BLOCK. Not
 * one that is longer than it seems, and none of 4 GiB, whose end an edge cannot name. */
u32 scan_index_ends(const struct scan_index *self, u64 address);

#endif
