/* SPDX-License-Identifier: MIT
 * Address and size of the live chunks of an image, by chunk number, so that a free need not repeat
 * them. Pages of numbers that are mostly dead are packed, and those that are all dead give their
 * memory back: what is needed goes by the live chunks, not by all that ever were. */
#ifndef HOST_TRACE_CHUNKS_H
#define HOST_TRACE_CHUNKS_H

#include "format/types.h"

enum { CHUNK_PAGE_SHIFT = 12, CHUNK_PAGE = 1 << CHUNK_PAGE_SHIFT, CHUNK_WORDS = CHUNK_PAGE / 64 };

struct chunk_cell { /* side by side: a free touches one cache line of them */
	u64 address, size;
};

struct chunk_page {
	struct chunk_cell *cells;
	u64 live[CHUNK_WORDS]; /* a bit per chunk */
	u32 live_count;
	u32 pack_at;               /* live_count at which it is worth it, 0 = never */
	struct chunk_rank *packed; /* which chunks cells are of; NULL = each has its own */
};

struct chunk_rank {
	u64 kept[CHUNK_WORDS];   /* a bit per chunk that has a cell */
	u16 before[CHUNK_WORDS]; /* cells of chunks in earlier words */
};

struct chunks { /* all zero = no chunk yet */
	struct chunk_page **pages;
	u64 pages_count, pages_capacity;
	struct chunk_page *spare; /* kept for the next page, as churn would free and map it again */
	u64 next;                 /* number of the next chunk */
};

/* Chunk number `next` is born; false if there is no memory. */
bool chunks_grow(struct chunks *chunks);
static inline bool chunks_add(struct chunks *chunks, u64 address, u64 size)
{
	u64 chunk = chunks->next;
	u64 slot = chunk & (CHUNK_PAGE - 1);
	struct chunk_page *page;

	if (slot == 0 && !chunks_grow(chunks))
		return false;
	page = chunks->pages[chunk >> CHUNK_PAGE_SHIFT];
	page->cells[slot] = (struct chunk_cell){address, size};
	page->live[slot / 64] |= 1ull << (slot % 64);
	page->live_count++;
	chunks->next++;
	return true;
}

/* Where the cell of a live chunk is. */
static inline u64 chunk_cell_at(const struct chunk_page *page, u64 slot)
{
	const struct chunk_rank *rank = page->packed;
	u64 lower = (1ull << (slot % 64)) - 1;

	if (likely(!rank))
		return slot;
	return rank->before[slot / 64] + (u64)__builtin_popcountll(rank->kept[slot / 64] & lower);
}

/* Takes a live chunk out; false if it is not live. */
void chunks_shrink(struct chunks *chunks, u64 page);
static inline bool chunks_take(struct chunks *chunks, u64 chunk, u64 *address, u64 *size)
{
	u64 slot = chunk & (CHUNK_PAGE - 1), bit = 1ull << (slot % 64);
	struct chunk_page *page;
	const struct chunk_cell *cell;

	if (chunk >= chunks->next)
		return false;
	page = chunks->pages[chunk >> CHUNK_PAGE_SHIFT];
	if (!page || !(page->live[slot / 64] & bit))
		return false;
	cell = &page->cells[chunk_cell_at(page, slot)];
	*address = cell->address;
	*size = cell->size;
	page->live[slot / 64] &= ~bit;
	if (--page->live_count <= page->pack_at)
		chunks_shrink(chunks, chunk >> CHUNK_PAGE_SHIFT);
	return true;
}

/* Forgets all chunks, as at the start of an image; numbers start at 0 again. */
void chunks_reset(struct chunks *chunks);
void chunks_release(struct chunks *chunks);

#endif
