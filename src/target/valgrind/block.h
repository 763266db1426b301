/* SPDX-License-Identifier: GPL-2.0-or-later
 * A live block and what is known of the accesses to it; and the map from any address to its block.
 *
 * The map has three levels: regions of 16 MiB, pages, granules of 16 bytes. A page that lies within
 * one block needs no granules, so a large block costs 8 bytes per page. Valgrind's allocator aligns
 * blocks to 16 bytes and keeps them apart, so that no granule belongs to two. */
#ifndef TARGET_VALGRIND_BLOCK_H
#define TARGET_VALGRIND_BLOCK_H

#include "target/valgrind/tool.h"

struct block {
	/* What every access needs is in one line of the cache. */
	/* accesses are within [low, high), which may go beyond the block */
	_Alignas(HW_CACHE_LINE) Addr low;
	Addr high;
	u64 reads, writes;
	u64 read_bytes, written_bytes;
	u64 last_ticks; /* of accesses, 0 = never; first_ticks, too */
	u32 usual;      /* the thread, if it is the only one and coverage is not measured; else 0 */
	u32 thread;     /* that accessed it first, 0 = none */
	u64 first_ticks;
	Addr address;
	u64 size;
	/* a bit per byte that was read, then those of bytes written; NULL = not measured */
	u64 *covered;
	u32 shared;    /* 1 = more than one thread accessed it */
	u32 recording; /* the recording that was told of it; 0 = none was */
	u32 lives;
	u32 held; /* 1 = a custom allocator uses it up: its beginning and its end are no events */
};

enum {
	REGION_BITS = 24,
	ADDRESS_BITS = 47, /* of a program's addresses */
	PAGE_BITS = 12,
	GRANULE_BITS = 4,
	REGION_PAGES = 1 << (REGION_BITS - PAGE_BITS),
	PAGE_GRANULES = 1 << (PAGE_BITS - GRANULE_BITS),
};

/* The granules of a page, or a whole block: then the low bit is set. */
typedef u64 page_entry;
extern page_entry **hwv_regions;

void hwv_blocks_init(Bool coverage);

/* Words of one map of the block's bytes, of which `covered` has one for each side. */
static inline u64 hwv_map_words(const struct block *block) { return (block->size + 63) / 64; }

/* The block that owns the granule of an address; the address may lie in the padding behind it. */
static inline struct block *hwv_owner(Addr address)
{
	const page_entry *pages;
	page_entry entry;

	if (unlikely(address >> ADDRESS_BITS))
		return NULL;
	pages = hwv_regions[address >> REGION_BITS];
	if (!pages)
		return NULL;
	entry = pages[address >> PAGE_BITS & (REGION_PAGES - 1)];
	if (entry & 1)
		return (struct block *)(entry - 1);
	return ((struct block **)entry)[address >> GRANULE_BITS & (PAGE_GRANULES - 1)];
}

/* The block that begins at an address, NULL if there is none. */
static inline struct block *hwv_block_at(Addr address)
{
	struct block *block = hwv_owner(address);

	return block && block->address == address ? block : NULL;
}

extern u64 hwv_gone_accesses; /* of blocks that were freed */

struct block *hwv_block_new(Addr address, SizeT size);
void hwv_block_free(struct block *block);

/* Calls visit for every live block. */
void hwv_blocks_each(void (*visit)(struct block *block));

#endif
