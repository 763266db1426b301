/* SPDX-License-Identifier: MIT
 * The blocks that live now, by address: a table made for millions of blocks and tens of millions of
 * changes a second. Used by the correlator, on the drain thread.
 *
 * Blocks that are neighbours in the program's heap are neighbours here, as programs free together
 * what they allocated together. 256 bytes of the program's memory have a *leaf*, a cell for each
 * 32 bytes; 2 MiB have a *region*, which names their leaves. So a block is found by arithmetic,
 * with one cache miss, which live_prefetch starts early; nothing is ever moved. A leaf that became
 * empty stays where it is, since most are soon used again; those that are not are collected when
 * too many lie idle.
 *
 * A cell takes 16 bytes: clearing fresh memory was the dearest part of a table of plain records.
 * What does not fit goes to the spill: blocks that are very large, the second of two blocks less
 * than 32 bytes apart (glibc has none), and blocks for which events wait. */
#ifndef LIVE_DRAIN_LIVE_H
#define LIVE_DRAIN_LIVE_H

#include "host/base/map.h"
#include "live/drain/spill.h"

enum {
	LIVE_CELL_BITS = 5,
	LIVE_LEAF_BITS = 8,
	LIVE_REGION_BITS = 21,
	LIVE_CELLS = 1 << (LIVE_LEAF_BITS - LIVE_CELL_BITS),    /* of a leaf */
	LIVE_LEAVES = 1 << (LIVE_REGION_BITS - LIVE_LEAF_BITS), /* of a region */
	LIVE_NEAR = 64,  /* regions that are found without a search */
	LIVE_COUNT = 15, /* live_region.leaf: cells in use; the bits above are the leaf's number */
	LIVE_NUMBER_SHIFT = 4,
};
#define LIVE_CELL_SIZE ((u64)1 << 27) /* what is stored in a cell is smaller than these */
#define LIVE_CELL_CHUNK (((u64)1 << 40) - 1)
#define LIVE_CELL_CONTEXT ((u64)1 << 24)

struct live_cell {
	u64 who;  /* chunk + 1, 40 bits; context, 24 bits. 0 = free */
	u64 what; /* low bits of the birth's ticks, 32; size, 27; low bits of the address, 5 */
};

struct live_leaf {
	struct live_cell cells[LIVE_CELLS];
};

struct live_region {
	u32 leaf[LIVE_LEAVES]; /* 0 = none */
};

struct live_near {
	u64 number;
	struct live_region *region;
};

struct live_table {
	struct live_leaf *leaves; /* one large reservation */
	struct live_near near[LIVE_NEAR];
	u32 leaves_used, leaves_max;
	u32 leaves_idle;    /* that belong to a region and have no cell in use */
	u32 free_leaf;      /* number, 0 = none; cells[0].what is the next one */
	struct map regions; /* by number: struct live_region * */
	struct spill spill;
};

bool live_init(struct live_table *self);
void live_release(struct live_table *self);

/* The block's record in the spill, moved there if it has a cell; NULL if nothing lives there. Sets
 * *failed, and changes nothing, if there is no memory to move it. */
struct live_block *live_take_out(struct live_table *self, u64 address, bool *failed);

/* The block that covers the address, which may lie behind its start: an array with a cookie, an
 * object with a header. Looks no further back than 64 KiB, among the blocks of the spill only where
 * compilers put cookies. A block of the spill for which events wait covers whatever it may cover
 * once they are told. False if there is none. */
bool live_cover(struct live_table *self, u64 address, struct live_block *block);

/* Calls for every live block, those of the spill last, until the function returns false; then so
 * does this. */
bool live_each(const struct live_table *self,
	       bool (*tell)(void *tell_self, const struct live_block *block), void *tell_self);

/* Behind the functions below: what is rare. */
struct live_region *live_region_find(struct live_table *self, u64 number);
u32 *live_leaf_make(struct live_table *self, u64 address); /* NULL without memory */

/* Heaps of threads begin 64 MiB apart: the low bits of their regions' numbers are all alike. */
static inline struct live_near *live_near(struct live_table *self, u64 number)
{
	return &self->near[(number + (number >> 5)) % LIVE_NEAR];
}

/* NULL if nothing ever lived there. */
static inline struct live_region *live_region(struct live_table *self, u64 address)
{
	u64 number = address >> LIVE_REGION_BITS;
	struct live_near *near = live_near(self, number);

	return likely(near->number == number) ? near->region : live_region_find(self, number);
}

static inline u32 *live_leaf_of(struct live_region *region, u64 address)
{
	return &region->leaf[address >> LIVE_LEAF_BITS & (LIVE_LEAVES - 1)];
}

/* Leaf 0, of what has none, has only free cells. */
static inline struct live_cell *live_cell_in(const struct live_table *self, u32 leaf, u64 address)
{
	return &self->leaves[leaf >> LIVE_NUMBER_SHIFT]
			.cells[address >> LIVE_CELL_BITS & (LIVE_CELLS - 1)];
}

static inline u64 live_cell_size(const struct live_cell *cell)
{
	return cell->what >> LIVE_CELL_BITS & (LIVE_CELL_SIZE - 1);
}

static inline u64 live_cell_chunk(const struct live_cell *cell) { return (cell->who >> 24) - 1; }

static inline u32 live_cell_context(const struct live_cell *cell)
{
	return (u32)cell->who & 0xffffff;
}

/* The leaf of an address, fetched; NULL if there is no region yet. Regions stay: it is good for as
 * long as the table is. */
static inline u32 *live_prefetch(struct live_table *self, u64 address)
{
	struct live_region *region = live_region(self, address);
	u32 *leaf;

	if (unlikely(!region))
		return NULL;
	leaf = live_leaf_of(region, address);
	__builtin_prefetch(live_cell_in(self, *leaf, address), 1);
	return leaf;
}

/* The block's cell in its leaf (which may be NULL); NULL if it has none: then it may be in the
 * spill. */
static inline struct live_cell *live_find_in(const struct live_table *self, const u32 *leaf,
					     u64 address)
{
	struct live_cell *cell;

	if (unlikely(!leaf))
		return NULL;
	cell = live_cell_in(self, *leaf, address);
	return likely(cell->who && ((cell->what ^ address) & 31) == 0) ? cell : NULL;
}

static inline struct live_cell *live_find(struct live_table *self, u64 address)
{
	struct live_region *region = live_region(self, address);

	return live_find_in(self, region ? live_leaf_of(region, address) : NULL, address);
}

/* Gives a new block its cell; false if it must go to the spill, or lives already. leaf is what
 * live_prefetch returned, or NULL. */
static inline bool live_add(struct live_table *self, u32 *leaf, const struct live_block *block)
{
	struct live_cell *cell;

	if (unlikely(block->size >= LIVE_CELL_SIZE || block->chunk >= LIVE_CELL_CHUNK ||
		     block->context >= LIVE_CELL_CONTEXT ||
		     (self->spill.used && spill_find(&self->spill, block->address))))
		return false;
	if (unlikely(!leaf || !*leaf)) {
		leaf = live_leaf_make(self, block->address);
		if (!leaf)
			return false;
	}
	cell = live_cell_in(self, *leaf, block->address);
	if (unlikely(cell->who))
		return false;
	cell->who = (block->chunk + 1) << 24 | block->context;
	cell->what =
		(u64)block->extra << 32 | block->size << LIVE_CELL_BITS | (block->address & 31);
	self->leaves_idle -= (*leaf & LIVE_COUNT) == 0;
	++*leaf;
	return true;
}

static inline void live_remove(struct live_table *self, u32 *leaf, struct live_cell *cell)
{
	cell->who = 0;
	--*leaf;
	self->leaves_idle += (*leaf & LIVE_COUNT) == 0;
}

#endif
