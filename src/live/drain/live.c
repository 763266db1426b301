/* SPDX-License-Identifier: MIT
 * Regions and leaves of the table of live blocks; see live.h. Runs on the drain thread. */
#define _GNU_SOURCE
#include "live/drain/live.h"

#include <string.h>
#include <sys/mman.h>

static const u64 LEAVES_MAX = 1 << (32 - LIVE_NUMBER_SHIFT), LEAVES_MIN = 1 << 12;

/* Idle leaves that are not collected yet. */
enum { IDLE_MIN = 1 << 10, IDLE_PER_REGION = 64 };

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed memory. What is not touched costs nothing. */
static void *pages_take(u64 bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Reserves room for as many leaves as the system allows; where addresses are limited, for a quarter
 * of these: other processes need some, and what finds no leaf goes to the spill. In huge pages,
 * where it has them: with small ones a random lookup misses the TLB as well as the cache. */
static bool leaves_reserve(struct live_table *self)
{
	u64 count = LEAVES_MAX;

	while (!self->leaves && count >= LEAVES_MIN) {
		self->leaves = pages_take(count * sizeof(struct live_leaf));
		if (!self->leaves)
			count /= 2;
	}
	if (!self->leaves)
		return false;
	if (count < LEAVES_MAX) {
		munmap(self->leaves + count / 4, (count - count / 4) * sizeof(struct live_leaf));
		count /= 4;
	}
	madvise(self->leaves, count * sizeof(struct live_leaf), MADV_HUGEPAGE);
	self->leaves_max = (u32)(count - 1);
	self->leaves_used = 1; /* number 0 is the leaf of what has none: always empty */
	return true;
}

bool live_init(struct live_table *self)
{
	memset(self, 0, sizeof(*self));
	for (u32 i = 0; i < LIVE_NEAR; i++)
		self->near[i].number = UINT64_MAX;
	return leaves_reserve(self);
}

void live_release(struct live_table *self)
{
	for (u64 at = 0, number, region; map_next(&self->regions, &at, &number, &region);)
		munmap((void *)(uintptr_t)region, sizeof(struct live_region));
	if (self->leaves)
		munmap(self->leaves, ((u64)self->leaves_max + 1) * sizeof(struct live_leaf));
	map_release(&self->regions);
	spill_release(&self->spill);
	memset(self, 0, sizeof(*self));
}

/* ---- regions and leaves ---------------------------------------------------------------------- */

static struct live_region *region_remember(struct live_table *self, u64 number,
					   struct live_region *region)
{
	*live_near(self, number) = (struct live_near){number, region};
	return region;
}

struct live_region *live_region_find(struct live_table *self, u64 number)
{
	const u64 *found = map_find(&self->regions, number);

	return found ? region_remember(self, number, (void *)(uintptr_t)*found) : NULL;
}

static struct live_region *region_add(struct live_table *self, u64 number)
{
	struct live_region *region = pages_take(sizeof(*region));

	if (!region)
		return NULL;
	if (!map_put(&self->regions, number, (u64)(uintptr_t)region)) {
		munmap(region, sizeof(*region));
		return NULL;
	}
	return region_remember(self, number, region);
}

static void leaf_drop(struct live_table *self, u32 *leaf)
{
	u32 number = *leaf >> LIVE_NUMBER_SHIFT;

	self->leaves[number].cells[0].what = self->free_leaf;
	self->free_leaf = number;
	*leaf = 0;
}

static void leaves_collect(struct live_table *self)
{
	for (u64 at = 0, number, value; map_next(&self->regions, &at, &number, &value);) {
		struct live_region *region = (void *)(uintptr_t)value;

		for (u64 i = 0; i < LIVE_LEAVES; i++) {
			if (region->leaf[i] && (region->leaf[i] & LIVE_COUNT) == 0)
				leaf_drop(self, &region->leaf[i]);
		}
	}
	self->leaves_idle = 0;
}

/* Number of an empty leaf; 0 if there is no room. The pass over all regions is worth it when it
 * finds a good part of all leaves, and some in each region. */
static u32 leaf_take(struct live_table *self)
{
	u32 leaf;

	if (!self->free_leaf && self->leaves_idle >= IDLE_MIN + self->leaves_used / 4 &&
	    self->leaves_idle >= map_count(&self->regions) * IDLE_PER_REGION)
		leaves_collect(self);
	leaf = self->free_leaf;
	if (leaf) {
		self->free_leaf = (u32)self->leaves[leaf].cells[0].what;
		return leaf;
	}
	return self->leaves_used <= self->leaves_max ? self->leaves_used++ : 0;
}

u32 *live_leaf_make(struct live_table *self, u64 address)
{
	struct live_region *region = live_region(self, address);
	u32 *leaf;

	if (!region)
		region = region_add(self, address >> LIVE_REGION_BITS);
	if (!region)
		return NULL;
	leaf = live_leaf_of(region, address);
	if (!*leaf) {
		*leaf = leaf_take(self) << LIVE_NUMBER_SHIFT;
		self->leaves_idle += *leaf != 0;
	}
	return *leaf ? leaf : NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct live_block cell_block(const struct live_cell *cell, u64 address)
{
	return (struct live_block){
		.address = address,
		.size = live_cell_size(cell),
		.chunk = live_cell_chunk(cell),
		.context = live_cell_context(cell),
		.extra = (u32)(cell->what >> 32),
	};
}

struct live_block *live_take_out(struct live_table *self, u64 address, bool *failed)
{
	struct live_cell *cell = live_find(self, address);
	struct live_block *block;

	*failed = false;
	if (!cell)
		return spill_find(&self->spill, address);
	block = spill_add(&self->spill, address);
	*failed = !block;
	if (!block)
		return NULL;
	*block = cell_block(cell, address);
	live_remove(self, live_leaf_of(live_region(self, address), address), cell);
	return block;
}

/* ---- blocks around an address ---------------------------------------------------------------- */

enum { COVER_BACK = 64 << 10, COOKIE_MAX = 4096 };

static bool covers(const struct live_block *block, u64 address)
{
	return address - block->address < block->size || address == block->address;
}

/* The nearest block with a cell that starts at or before the address. */
static bool cell_before(struct live_table *self, u64 address, struct live_block *block)
{
	u64 step = 1 << LIVE_CELL_BITS, at = address & ~(step - 1);

	for (; address - at <= COVER_BACK && at >= step; at -= step) {
		struct live_region *region = live_region(self, at);
		const struct live_cell *cell;
		u64 start;

		if (!region || !*live_leaf_of(region, at)) {
			at &= ~(((u64)1 << (region ? LIVE_LEAF_BITS : LIVE_REGION_BITS)) - 1);
			continue;
		}
		cell = live_cell_in(self, *live_leaf_of(region, at), at);
		start = at | (cell->what & (step - 1));
		if (!cell->who || start > address)
			continue;
		*block = cell_block(cell, start);
		return true;
	}
	return false;
}

/* A block of the spill that starts where the address would be of an object behind a cookie. */
static bool spill_cover(struct live_table *self, u64 address, struct live_block *block)
{
	for (u64 back = 0; back <= COOKIE_MAX && back < address; back = back ? 2 * back : 8) {
		const struct live_block *found = spill_find(&self->spill, address - back);

		if (!found || !(found->chunk & LIVE_QUEUED || covers(found, address)))
			continue;
		*block = *found;
		return true;
	}
	return false;
}

bool live_cover(struct live_table *self, u64 address, struct live_block *block)
{
	if (cell_before(self, address, block) && covers(block, address))
		return true;
	return self->spill.used && spill_cover(self, address, block);
}

static bool leaf_each(const struct live_table *self, u32 leaf, u64 address,
		      bool (*tell)(void *tell_self, const struct live_block *block),
		      void *tell_self)
{
	for (u32 i = 0; i < LIVE_CELLS; i++, address += 1 << LIVE_CELL_BITS) {
		const struct live_cell *cell = live_cell_in(self, leaf, address);
		struct live_block block = cell_block(cell, address | (cell->what & 31));

		if (cell->who && !tell(tell_self, &block))
			return false;
	}
	return true;
}

bool live_each(const struct live_table *self,
	       bool (*tell)(void *tell_self, const struct live_block *block), void *tell_self)
{
	for (u64 at = 0, number, value; map_next(&self->regions, &at, &number, &value);) {
		const struct live_region *region = (void *)(uintptr_t)value;

		for (u64 i = 0; i < LIVE_LEAVES; i++) {
			u64 address = number << LIVE_REGION_BITS | i << LIVE_LEAF_BITS;

			if (region->leaf[i] &&
			    !leaf_each(self, region->leaf[i], address, tell, tell_self))
				return false;
		}
	}
	return spill_each(&self->spill, tell, tell_self);
}
