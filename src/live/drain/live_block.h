/* SPDX-License-Identifier: MIT
 * What the monitor knows of a block that lives now. */
#ifndef LIVE_DRAIN_LIVE_BLOCK_H
#define LIVE_DRAIN_LIVE_BLOCK_H

#include "format/types.h"

#define LIVE_QUEUED ((u64)1 << 63)
#define LIVE_NOTHING (LIVE_QUEUED - 1) /* as chunk: nothing lives at the address */

struct live_block {
	u64 address; /* 0 = free place */
	u64 size;
	u64 chunk;   /* number, or LIVE_NOTHING; with LIVE_QUEUED, events of the address wait */
	u32 context; /* that allocated it */
	u32 extra; /* low bits of the birth's ticks; with LIVE_QUEUED the queue, see correlate.c */
};
_Static_assert(sizeof(struct live_block) == 32, "two blocks to a cache line");

#endif
