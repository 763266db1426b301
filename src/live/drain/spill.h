/* SPDX-License-Identifier: MIT
 * Live blocks for which the table of live.h has no cell, and addresses where events wait: an
 * open-addressing hash table. Used by live.h and the correlator.
 *
 * The table is cut into shards that grow one at a time: growing all of it at once would hold up the
 * recorded program for seconds when its heap is large.
 *
 * Pointers to blocks are valid until the next spill_add or spill_remove. */
#ifndef LIVE_DRAIN_SPILL_H
#define LIVE_DRAIN_SPILL_H

#include "live/drain/live_block.h"

enum { SPILL_SHARDS = 64, SPILL_SHARD_BITS = 6 };

struct spill_shard { /* all zero = no place yet */
	struct live_block *blocks;
	u64 places; /* a power of two */
	u64 used;
};

struct spill { /* all zero = empty */
	struct spill_shard shards[SPILL_SHARDS];
	u64 used;
};

void spill_release(struct spill *self);

/* The block at address, or NULL. address is not 0. */
struct live_block *spill_find(struct spill *self, u64 address);

/* A new block at address, which is not there yet; NULL without memory. Other fields are zero. */
struct live_block *spill_add(struct spill *self, u64 address);

void spill_remove(struct spill *self, struct live_block *block);

/* Calls for every block that lives, until the function returns false; then so does this. */
bool spill_each(const struct spill *self,
		bool (*tell)(void *tell_self, const struct live_block *block), void *tell_self);

#endif
