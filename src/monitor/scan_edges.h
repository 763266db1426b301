/* SPDX-License-Identifier: MIT
 * The pointers from block to block of a process that stands still. All blocks are read once, in the
 * order of their addresses, on several threads; what is kept is which block each pointer leads to,
 * a fraction of the memory itself, so that marking needs no more reads. */
#ifndef MONITOR_SCAN_EDGES_H
#define MONITOR_SCAN_EDGES_H

#include "monitor/scan_index.h"
#include "monitor/scan_memory.h"

enum { SCAN_SLICES = 4 }; /* threads at most */

/* When a scan is to be given up. */
struct scan_patience {
	u64 deadline_ns;   /* CLOCK_MONOTONIC; 0 = none */
	const u32 *cancel; /* stops when it is not `cancel_seen`; NULL = never */
	u32 cancel_seen;
};

/* 0, or a negative code and why there is no point in going on. */
int scan_patience_check(const struct scan_patience *self, const struct scan_memory *memory,
			struct err *err);

/* The pointers in the blocks [first_block, end_block). */
struct scan_slice {
	u32 first_block, end_block;
	u64 *starts;    /* of each block's words, and one more: their end */
	VEC(u32) words; /* number of a block; with EDGE_INSIDE the offset in it follows, low half first */
};

enum { EDGE_INSIDE = 1u << 31 }; /* the pointer is not to the block's start */

struct scan_edges { /* all zero = none */
	struct scan_slice slices[SCAN_SLICES];
	u32 count;
};

/* Finds all pointers. Negative if it was stopped, the process vanished or there is no memory. */
int scan_edges_find(struct scan_edges *self, const struct scan_memory *memory,
		    const struct scan_index *index, const struct scan_patience *patience,
		    struct err *err);
void scan_edges_release(struct scan_edges *self);

/* The words of one block. */
static inline const u32 *scan_edges_of(const struct scan_edges *self, u32 block, const u32 **end)
{
	const struct scan_slice *slice = self->slices;

	while (block >= slice->end_block)
		slice++;
	*end = slice->words.data + slice->starts[block - slice->first_block + 1];
	return slice->words.data + slice->starts[block - slice->first_block];
}

#endif
