/* SPDX-License-Identifier: MIT
 * The hash table behind the table of live blocks; see spill.h. Runs on the drain thread. Never
 * leaves a tombstone: removal moves later blocks of the same run back. */
#include "live/drain/spill.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

void spill_release(struct spill *self)
{
	for (u32 i = 0; i < SPILL_SHARDS; i++)
		free(self->shards[i].blocks);
	memset(self, 0, sizeof(*self));
}

/* The high bits are the well-mixed ones: first the shard's number, then the place. */
static u64 hash_of(u64 address) { return (address >> 3) * 0x9e3779b97f4a7c15ull; }

static struct spill_shard *shard_of(struct spill *self, u64 address)
{
	return &self->shards[hash_of(address) >> (64 - SPILL_SHARD_BITS)];
}

static u64 home_of(const struct spill_shard *shard, u64 address)
{
	return (hash_of(address) << SPILL_SHARD_BITS) >> 20 & (shard->places - 1);
}

/* The block at address, or the free place where it belongs. */
static struct live_block *shard_place(struct spill_shard *shard, u64 address)
{
	u64 i = home_of(shard, address);

	while (shard->blocks[i].address && shard->blocks[i].address != address)
		i = (i + 1) & (shard->places - 1);
	return &shard->blocks[i];
}

static bool shard_grow(struct spill_shard *shard)
{
	struct spill_shard bigger = {.used = shard->used};

	bigger.places = shard->places ? shard->places * 2 : FIRST_PLACES;
	bigger.blocks = calloc(bigger.places, sizeof(*bigger.blocks));
	if (!bigger.blocks)
		return false;
	for (u64 i = 0; i < shard->places; i++) {
		const struct live_block *block = &shard->blocks[i];

		if (block->address)
			*shard_place(&bigger, block->address) = *block;
	}
	free(shard->blocks);
	*shard = bigger;
	return true;
}

struct live_block *spill_find(struct spill *self, u64 address)
{
	struct spill_shard *shard = shard_of(self, address);
	struct live_block *block = shard->places ? shard_place(shard, address) : NULL;

	return block && block->address ? block : NULL;
}

struct live_block *spill_add(struct spill *self, u64 address)
{
	struct spill_shard *shard = shard_of(self, address);
	struct live_block *block;

	/* At most half full: linear probing stays within one or two cache lines. */
	if (shard->used * 2 >= shard->places && !shard_grow(shard))
		return NULL;
	block = shard_place(shard, address);
	block->address = address;
	shard->used++;
	self->used++;
	return block;
}

void spill_remove(struct spill *self, struct live_block *block)
{
	struct spill_shard *shard = shard_of(self, block->address);
	u64 hole = (u64)(block - shard->blocks), mask = shard->places - 1;

	for (u64 i = (hole + 1) & mask; shard->blocks[i].address; i = (i + 1) & mask) {
		u64 home = home_of(shard, shard->blocks[i].address);

		/* A block may move to the hole unless its home lies between the hole and it. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			shard->blocks[hole] = shard->blocks[i];
			hole = i;
		}
	}
	memset(&shard->blocks[hole], 0, sizeof(struct live_block));
	shard->used--;
	self->used--;
}

bool spill_each(const struct spill *self,
		bool (*tell)(void *tell_self, const struct live_block *block), void *tell_self)
{
	for (u32 i = 0; i < SPILL_SHARDS; i++) {
		const struct spill_shard *shard = &self->shards[i];

		for (u64 k = 0; k < shard->places; k++) {
			const struct live_block *block = &shard->blocks[k];

			if (block->address && (block->chunk & ~LIVE_QUEUED) != LIVE_NOTHING &&
			    !tell(tell_self, block))
				return false;
		}
	}
	return true;
}
