/* SPDX-License-Identifier: MIT
 * Which blocks are still reachable, possibly lost, indirectly lost or lost: memcheck's rules, on
 * the memory of a process that stands still. The pointers between blocks are known (edges.h);
 * roots are given first, then scan_mark_finish follows from block to block. docs/METHODS.md has the
 * rules. */
#ifndef LIVE_SCAN_MARK_H
#define LIVE_SCAN_MARK_H

#include "live/scan/edges.h"

struct scan_mark {
	struct scan_memory *memory;
	const struct scan_index *index;
	struct scan_edges *edges;
	u8 *classes; /* enum chunk_class of each block; CLASS_UNKNOWN = nothing leads to it */
	VEC(u32) reachable; /* blocks to be searched */
	VEC(u32) possible;
	u32 how;                     /* what a pointer found now means: enum chunk_class */
	u32 leader;                  /* of the lost blocks that are being followed */
	bool failed;                 /* there was no memory */
	struct scan_pointers *kept;  /* gets the pointers in ranges; NULL = nobody wants them */
	struct scan_numbers *beside; /* and the numbers beside them */
};

int scan_mark_init(struct scan_mark *self, struct scan_memory *memory,
		   const struct scan_index *index, struct scan_edges *edges, struct err *err);
void scan_mark_release(struct scan_mark *self);

/* A root: all aligned words of [start, end), or one value, a register. Returns the bytes read. */
u64 scan_mark_range(struct scan_mark *self, u64 start, u64 end);
void scan_mark_value(struct scan_mark *self, u64 value);
/* The same of words that were read already; data is the struct scan_mark. */
void scan_mark_words(void *data, u64 address, const u64 *words, u64 count);

/* Follows all pointers; classes are then never CLASS_UNKNOWN. Negative if it was stopped, or the
 * process vanished. */
int scan_mark_finish(struct scan_mark *self, struct err *err);

#endif
