/* SPDX-License-Identifier: MIT
 * The blocks that live now, by address: an open-addressing table made for millions of blocks and
 * tens of millions of changes a second. Used by the correlator, on the drain thread.
 *
 * The table is cut into shards that grow one at a time: growing all of it at once would hold up the
 * recorded program for seconds when its heap is large. A record takes half a cache line, so that a
 * lookup costs one cache miss, which live_prefetch starts early.
 *
 * Pointers to records are valid until the next live_add or live_remove. */
#ifndef MONITOR_LIVE_H
#define MONITOR_LIVE_H

#include "format/types.h"

#define LIVE_QUEUED ((u64)1 << 63)
#define LIVE_NOTHING (LIVE_QUEUED - 1) /* as chunk: nothing lives at the address */

enum { LIVE_SHARDS = 64, LIVE_SHARD_BITS = 6 };

struct live_block {
	u64 address; /* 0 = free place */
	u64 size;
	u64 chunk;   /* number, or LIVE_NOTHING; with LIVE_QUEUED, events of the address wait */
	u32 context; /* that allocated it */
	u32 extra; /* low bits of the birth's ticks; with LIVE_QUEUED the queue, see correlate.c */
};
_Static_assert(sizeof(struct live_block) == 32, "two blocks to a cache line");

struct live_shard {
	struct live_block *blocks;
	u64 mask;  /* places - 1 */
	u64 used;
	u32 shift; /* 64 - bits of a place's number */
};

struct live_pool { /* a piece of memory that small shards share */
	struct live_pool *older;
	u8 *memory;
};

struct live_table {
	struct live_shard shards[LIVE_SHARDS];
	struct live_pool *pools;
	u64 pool_left; /* bytes at the end of the newest pool */
};

bool live_init(struct live_table *self);
void live_release(struct live_table *self);

void live_remove(struct live_table *self, struct live_block *block);

/* Behind live_add: makes a shard twice as large; false without memory. */
bool live_grow(struct live_table *self, struct live_shard *shard);

/* Blocks of one KiB of the program's memory hash alike and are told apart by live_home: what is
 * allocated together is freed together, and then lies together here. The high bits of the product
 * are the well-mixed ones: first the shard's number, then the place. */
static inline u64 live_hash(u64 address)
{
	return (address >> 10) * 0x9e3779b97f4a7c15ull;
}

static inline struct live_shard *live_shard_of(struct live_table *self, u64 hash)
{
	return &self->shards[hash >> (64 - LIVE_SHARD_BITS)];
}

static inline u64 live_home(const struct live_shard *shard, u64 hash, u64 address)
{
	return (((hash << LIVE_SHARD_BITS) >> shard->shift) + ((address >> 5) & 31)) & shard->mask;
}

static inline void live_prefetch(struct live_table *self, u64 address)
{
	u64 hash = live_hash(address);
	struct live_shard *shard = live_shard_of(self, hash);

	__builtin_prefetch(&shard->blocks[live_home(shard, hash, address)], 1);
}

/* The record of address, or NULL. address is not 0. */
static inline struct live_block *live_find(struct live_table *self, u64 address)
{
	u64 hash = live_hash(address);
	struct live_shard *shard = live_shard_of(self, hash);

	for (u64 i = live_home(shard, hash, address);; i = (i + 1) & shard->mask) {
		struct live_block *block = &shard->blocks[i];

		if (block->address == address)
			return block;
		if (block->address == 0)
			return NULL;
	}
}

/* The record of address, put there if it is new (then *added, and all other fields are zero);
 * NULL without memory. address is not 0. */
static inline struct live_block *live_add(struct live_table *self, u64 address, bool *added)
{
	u64 hash = live_hash(address);
	struct live_shard *shard = live_shard_of(self, hash);
	struct live_block *block;
	u64 i;

	/* At most 5/8 full: linear probing stays within one or two cache lines. */
	if (unlikely(shard->used * 8 >= (shard->mask + 1) * 5) && !live_grow(self, shard))
		return NULL;
	for (i = live_home(shard, hash, address);; i = (i + 1) & shard->mask) {
		block = &shard->blocks[i];
		if (block->address == 0)
			break;
		if (block->address == address) {
			*added = false;
			return block;
		}
	}
	block->address = address;
	shard->used++;
	*added = true;
	return block;
}

#endif
