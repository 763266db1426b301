/* SPDX-License-Identifier: MIT
 * The chunk columns: every allocation of an image from birth to death, by chunk number. Columns are
 * kept in pages, so that they grow without copying; 55 bytes per chunk.
 *
 *	for (u64 chunk = 0; chunk < table->count; chunk++)
 *		if (chunk_end(table, chunk) == CHUNK_KEPT)
 *			bytes += chunk_at(table, chunk)->size[chunk % CHUNK_PAGE];
 */
#ifndef MODEL_CHUNKS_H
#define MODEL_CHUNKS_H

#include "base/vec.h"
#include "format/types.h"

enum { CHUNK_PAGE = 1 << 14 };

enum chunk_end {
	CHUNK_ABSENT, /* its allocation is in a damaged part of the trace */
	CHUNK_LIVE,   /* while loading; afterwards only if the trace breaks off */
	CHUNK_FREED,
	CHUNK_IMPLIED, /* its free was not seen, its address was handed out again */
	CHUNK_KEPT,    /* live when the process ended */
	CHUNK_EXEC,    /* live when another image replaced this one */
};

struct chunk_page {
	u64 address[CHUNK_PAGE];
	u64 size[CHUNK_PAGE]; /* requested bytes */
	u64 alloc_ticks[CHUNK_PAGE];
	u64 free_ticks[CHUNK_PAGE]; /* 0 = never */
	u32 alloc_context[CHUNK_PAGE];
	u32 free_context[CHUNK_PAGE];
	u32 alloc_thread[CHUNK_PAGE];
	u32 free_thread[CHUNK_PAGE];
	/* Freed chunks: allocations that their thread made between alloc and free. Live ones: how
	 * many it had made just after this one (both wrap at 2^32). */
	u32 others[CHUNK_PAGE];
	u8 kind[CHUNK_PAGE]; /* enum hw_kind of the allocation */
	u8 end[CHUNK_PAGE];  /* enum chunk_end */
	u8 chunk_class[CHUNK_PAGE]; /* enum chunk_class, of the last scan */
};

struct chunk_table {                    /* all zero = empty and ready */
	VEC(struct chunk_page *) pages; /* NULL: no chunk of that page is known */
	u64 count;                      /* highest chunk number + 1 */
};

/* The page that holds the chunk, made if needed; NULL if there is no memory. */
struct chunk_page *chunk_table_add(struct chunk_table *self, u64 chunk);
void chunk_table_release(struct chunk_table *self);

/* The page of a chunk below count, or NULL if nothing of it is known. */
static inline struct chunk_page *chunk_at(const struct chunk_table *self, u64 chunk)
{
	return self->pages.data[chunk / CHUNK_PAGE];
}

static inline enum chunk_end chunk_end(const struct chunk_table *self, u64 chunk)
{
	const struct chunk_page *page = chunk_at(self, chunk);

	return page ? (enum chunk_end)page->end[chunk % CHUNK_PAGE] : CHUNK_ABSENT;
}

#endif
