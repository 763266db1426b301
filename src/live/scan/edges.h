/* SPDX-License-Identifier: MIT
 * The pointers from block to block of a process that stands still. All blocks are read once, in the
 * order of their addresses, on several threads; what is kept is which block each pointer leads to,
 * a fraction of the memory itself, so that marking needs no more reads. */
#ifndef LIVE_SCAN_EDGES_H
#define LIVE_SCAN_EDGES_H

#include "live/scan/index.h"
#include "live/scan/memory.h"
#include "live/scan/numbers.h"
#include "live/scan/pointers.h"

enum { SCAN_SLICES = 4 }; /* threads at most */

/* A pointer into the middle of a block. */
struct scan_inside {
	u64 source; /* the block that it stands in; first: what they are sorted by */
	u64 value;
	u32 block; /* that it leads to */
};

/* What is known of the blocks [first_block, end_block). */
struct scan_slice {
	u32 first_block, end_block;
	u64 *starts;    /* of each block's words, and one more: their end */
	VEC(u32) words; /* blocks to whose starts there are pointers */
	/* Words that may point into a block's middle, in no order, and the blocks that they stand
	 * in. */
	VEC(u64) values;
	VEC(u32) sources;
	VEC(struct scan_inside) inside; /* what became of them */
	/* of each block: its first word may be that of an object with virtual functions */
	u8 *objects;
	u64 *inside_starts; /* as starts; NULL = there are none */
	/* All words that may be pointers to other blocks, if they are to be kept. */
	struct scan_pointers pointers;
	struct scan_numbers numbers; /* beside them */
};

struct scan_edges { /* all zero = none */
	struct scan_slice slices[SCAN_SLICES];
	u32 count;
};

/* Finds all pointers to starts, and keeps what may be one to a middle; `keep`: and where each of
 * them stands, with the numbers beside it. Negative if it was stopped, the process vanished or
 * there is no memory. */
int scan_edges_find(struct scan_edges *self, const struct scan_memory *memory,
		    const struct scan_index *index, bool keep, struct err *err);

/* Finds the pointers to the middle of blocks that are not reachable yet (`classes`, of each block):
 * where pointers to starts lead anyway the others tell nothing new, and most blocks are found that
 * way. Of several from one block to another that are of no known form (mark.c) one may stand for
 * all. */
int scan_edges_look_inside(struct scan_edges *self, const struct scan_memory *memory,
			   const struct scan_index *index, const u8 *classes, struct err *err);
void scan_edges_release(struct scan_edges *self);

static inline const struct scan_slice *scan_slice_of(const struct scan_edges *self, u32 block)
{
	const struct scan_slice *slice = self->slices;

	while (block >= slice->end_block)
		slice++;
	return slice;
}

/* The blocks to whose starts one block has pointers. */
static inline const u32 *scan_edges_of(const struct scan_edges *self, u32 block, const u32 **end)
{
	const struct scan_slice *slice = scan_slice_of(self, block);

	*end = slice->words.data + slice->starts[block - slice->first_block + 1];
	return slice->words.data + slice->starts[block - slice->first_block];
}

/* Its other pointers, once they are looked for. */
static inline const struct scan_inside *
scan_edges_inside_of(const struct scan_edges *self, u32 block, const struct scan_inside **end)
{
	const struct scan_slice *slice = scan_slice_of(self, block);

	if (!slice->inside_starts)
		return *end = NULL;
	*end = slice->inside.data + slice->inside_starts[block - slice->first_block + 1];
	return slice->inside.data + slice->inside_starts[block - slice->first_block];
}

#endif
