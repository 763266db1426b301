/* SPDX-License-Identifier: MIT
 * Growing and shrinking of the table of live blocks; see live.h. Runs on the drain thread. Never
 * leaves a tombstone: removal moves later records of the same run back. */
#define _GNU_SOURCE
#include "monitor/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_BITS = 5 };

static const u64 HUGE_BYTES = 2 << 20, POOL_BYTES = 32 << 20;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed memory in huge pages where the system has them: with small pages a random lookup misses
 * the TLB as well as the cache. Untouched memory costs nothing. */
static void *pages_take(u64 bytes)
{
	u8 *memory = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	u64 before;

	if (memory == MAP_FAILED)
		return NULL;
	before = -(u64)(uintptr_t)memory & (HUGE_BYTES - 1);
	if (before)
		munmap(memory, before);
	if (before < HUGE_BYTES)
		munmap(memory + before + bytes, HUGE_BYTES - before);
	madvise(memory + before, bytes, MADV_HUGEPAGE);
	return memory + before;
}

/* Small shards share a piece of memory. What they leave when they grow stays unused until
 * live_release; that is less than what they have then. */
static void *pool_take(struct live_table *self, u64 bytes)
{
	struct live_pool *pool;

	if (self->pool_left < bytes) {
		pool = malloc(sizeof(*pool));
		if (!pool)
			return NULL;
		pool->memory = pages_take(POOL_BYTES);
		if (!pool->memory) {
			free(pool);
			return NULL;
		}
		pool->older = self->pools;
		self->pools = pool;
		self->pool_left = POOL_BYTES;
	}
	self->pool_left -= bytes;
	return self->pools->memory + POOL_BYTES - self->pool_left - bytes;
}

static bool is_pooled(u64 places)
{
	return places * sizeof(struct live_block) < HUGE_BYTES;
}

static struct live_block *blocks_new(struct live_table *self, u64 places)
{
	u64 bytes = places * sizeof(struct live_block);

	return is_pooled(places) ? pool_take(self, bytes) : pages_take(bytes);
}

static void shard_release(struct live_shard *shard)
{
	u64 places = shard->mask + 1;

	if (shard->blocks && !is_pooled(places))
		munmap(shard->blocks, places * sizeof(struct live_block));
}

bool live_init(struct live_table *self)
{
	memset(self, 0, sizeof(*self));
	for (u32 i = 0; i < LIVE_SHARDS; i++) {
		self->shards[i].mask = (1u << FIRST_BITS) - 1;
		self->shards[i].shift = 64 - FIRST_BITS;
		self->shards[i].blocks = blocks_new(self, 1u << FIRST_BITS);
		if (!self->shards[i].blocks) {
			live_release(self);
			return false;
		}
	}
	return true;
}

void live_release(struct live_table *self)
{
	for (u32 i = 0; i < LIVE_SHARDS; i++)
		shard_release(&self->shards[i]);
	while (self->pools) {
		struct live_pool *older = self->pools->older;

		munmap(self->pools->memory, POOL_BYTES);
		free(self->pools);
		self->pools = older;
	}
	memset(self, 0, sizeof(*self));
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct live_block *shard_place(struct live_shard *shard, u64 address)
{
	u64 i = live_home(shard, live_hash(address), address);

	while (shard->blocks[i].address != 0)
		i = (i + 1) & shard->mask;
	return &shard->blocks[i];
}

bool live_grow(struct live_table *self, struct live_shard *shard)
{
	struct live_shard bigger = {
		.mask = shard->mask * 2 + 1, .used = shard->used, .shift = shard->shift - 1
	};

	bigger.blocks = blocks_new(self, bigger.mask + 1);
	if (!bigger.blocks)
		return false;
	for (u64 i = 0; i <= shard->mask; i++) {
		const struct live_block *block = &shard->blocks[i];

		if (block->address != 0)
			*shard_place(&bigger, block->address) = *block;
	}
	shard_release(shard);
	*shard = bigger;
	return true;
}

void live_remove(struct live_table *self, struct live_block *block)
{
	struct live_shard *shard = live_shard_of(self, live_hash(block->address));
	u64 hole = (u64)(block - shard->blocks);

	for (u64 i = (hole + 1) & shard->mask; shard->blocks[i].address != 0;
	     i = (i + 1) & shard->mask) {
		u64 address = shard->blocks[i].address;
		u64 home = live_home(shard, live_hash(address), address);

		/* A record may move to the hole unless its home lies between the hole and it. */
		if (((i - home) & shard->mask) >= ((i - hole) & shard->mask)) {
			shard->blocks[hole] = shard->blocks[i];
			hole = i;
		}
	}
	memset(&shard->blocks[hole], 0, sizeof(struct live_block));
	shard->used--;
}
