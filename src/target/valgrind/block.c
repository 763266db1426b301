/* SPDX-License-Identifier: GPL-2.0-or-later
 * Live blocks and the map that finds them; see block.h. */
#include "target/valgrind/block.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcassert.h>

enum { SLAB_BLOCKS = 4096 };

struct slab {
	struct slab *next;
	struct block blocks[SLAB_BLOCKS];
};

page_entry **hwv_regions;
static struct block *no_granules[PAGE_GRANULES]; /* of a page without blocks */
static struct block **spare_granules;            /* unused tables, linked by their first word */
static struct slab *slabs;
static struct block *free_blocks; /* linked by `covered` */
static Bool measure_coverage;
u64 hwv_gone_accesses;

/* Zeros; pages are taken when they are written. */
#ifdef HWV_SHADOW_RESULT /* since Valgrind 3.22 */
static void *shadow_new(const HChar *what, SizeT bytes)
{
	SysRes result = VG_(am_shadow_alloc)(bytes);

	if (sr_isError(result))
		VG_(out_of_memory_NORETURN)(what, bytes, sr_Err(result));
	return (void *)sr_Res(result);
}
#else
static void *shadow_new(const HChar *what, SizeT bytes)
{
	void *memory = VG_(am_shadow_alloc)(bytes);

	if (!memory)
		VG_(out_of_memory_NORETURN)(what, bytes);
	return memory;
}
#endif

void hwv_blocks_init(Bool coverage)
{
	measure_coverage = coverage;
	hwv_regions = shadow_new("heapwise.regions", sizeof(*hwv_regions)
							     << (ADDRESS_BITS - REGION_BITS));
}

/* ---- the map ---- */

static page_entry *region_pages(Addr address)
{
	page_entry **region = &hwv_regions[address >> REGION_BITS];

	if (*region)
		return *region;
	*region = VG_(malloc)("heapwise.pages", REGION_PAGES * sizeof(page_entry));
	for (u32 i = 0; i < REGION_PAGES; i++)
		(*region)[i] = (page_entry)no_granules;
	return *region;
}

static struct block **granules_new(void)
{
	struct block **granules = spare_granules;

	if (!granules)
		return VG_(calloc)("heapwise.granules", PAGE_GRANULES, sizeof(*granules));
	spare_granules = (struct block **)granules[0];
	granules[0] = NULL;
	return granules;
}

/* All of them are NULL: no block is in the page. */
static void granules_keep(struct block **granules)
{
	granules[0] = (struct block *)spare_granules;
	spare_granules = granules;
}

static void page_set_whole(page_entry *entry, struct block *owner)
{
	if (!(*entry & 1) && *entry != (page_entry)no_granules)
		granules_keep((struct block **)*entry);
	*entry = owner ? (page_entry)owner | 1 : (page_entry)no_granules;
}

static void page_set_part(page_entry *entry, Addr from, Addr end, struct block *owner)
{
	struct block **granules;

	if (*entry == (page_entry)no_granules)
		*entry = (page_entry)granules_new();
	granules = (struct block **)*entry;
	for (Addr at = from; at < end; at += 1 << GRANULE_BITS)
		granules[at >> GRANULE_BITS & (PAGE_GRANULES - 1)] = owner;
}

/* A block of no bytes owns a granule, too, so that it is found when it is freed. */
static void map_set(const struct block *block, struct block *owner)
{
	Addr end = block->address + (block->size ? block->size : 1);
	Addr next;

	for (Addr at = block->address; at < end; at = next) {
		page_entry *entry = &region_pages(at)[at >> PAGE_BITS & (REGION_PAGES - 1)];

		next = (at >> PAGE_BITS << PAGE_BITS) + (1 << PAGE_BITS);
		if (at + (1 << PAGE_BITS) == next && next <= end)
			page_set_whole(entry, owner);
		else
			page_set_part(entry, at, next < end ? next : end, owner);
	}
}

/* ---- blocks ---- */

static void slab_new(void)
{
	SizeT room = sizeof(struct slab) + HW_CACHE_LINE;
	Addr memory = (Addr)VG_(calloc)("heapwise.blocks", 1, room);
	struct slab *slab = (struct slab *)VG_ROUNDUP(memory, HW_CACHE_LINE);

	slab->next = slabs;
	slabs = slab;
	for (u32 i = 0; i < SLAB_BLOCKS; i++) {
		slab->blocks[i].covered = (u64 *)free_blocks;
		free_blocks = &slab->blocks[i];
	}
}

struct block *hwv_block_new(Addr address, SizeT size)
{
	struct block *block;

	if (!free_blocks)
		slab_new();
	block = free_blocks;
	free_blocks = (struct block *)block->covered;
	VG_(memset)(block, 0, sizeof(*block));
	block->address = address;
	block->size = size;
	block->low = UINT64_MAX;
	block->lives = 1;
	if (measure_coverage && size)
		block->covered = VG_(calloc)("heapwise.coverage", HW_SIDES * hwv_map_words(block),
					     sizeof(u64));
	map_set(block, block);
	return block;
}

void hwv_block_free(struct block *block)
{
	map_set(block, NULL);
	hwv_gone_accesses += block->reads + block->writes;
	if (block->covered)
		VG_(free)(block->covered);
	block->lives = 0;
	block->low = UINT64_MAX; /* for who still knows it */
	block->covered = (u64 *)free_blocks;
	free_blocks = block;
}

void hwv_blocks_each(void (*visit)(struct block *block))
{
	for (struct slab *slab = slabs; slab; slab = slab->next)
		for (u32 i = 0; i < SLAB_BLOCKS; i++)
			if (slab->blocks[i].lives)
				visit(&slab->blocks[i]);
}
