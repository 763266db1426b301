/* SPDX-License-Identifier: MIT
 * The chunk columns: every allocation of an image from birth to death, by chunk number. Columns are
 * kept in pages, so that they grow without copying; 55 bytes per chunk. Pages are memory of the
 * process, or they lie in a file that is mapped (study/model/columns.h), which may be larger than
 * memory.
 *
 *	if (chunk_end(table, chunk) == CHUNK_KEPT)
 *		bytes += chunk_at(table, chunk)->size[chunk % CHUNK_PAGE];
 *
 * study/model/each.h has the loop over them. */
#ifndef STUDY_MODEL_CHUNKS_H
#define STUDY_MODEL_CHUNKS_H

#include "host/base/vec.h"
#include "format/types.h"

struct column_store;

#ifndef HEAPWISE_CHUNK_PAGE_BITS
#define HEAPWISE_CHUNK_PAGE_BITS                                                                   \
	14 /* at least 12, so that columns are pages of the machine; tools/fuzz has 12 */
#endif
enum { CHUNK_PAGE = 1 << HEAPWISE_CHUNK_PAGE_BITS };

enum chunk_end {
	CHUNK_ABSENT, /* its allocation is in a damaged part of the trace */
	CHUNK_LIVE,   /* while loading; afterwards only if the trace breaks off */
	CHUNK_FREED,
	CHUNK_IMPLIED, /* its free was not seen, its address was handed out again */
	CHUNK_KEPT,    /* live when the process ended */
	CHUNK_EXEC,    /* live when another image replaced this one, or left to a collector */
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
	u8 kind[CHUNK_PAGE];        /* enum hw_kind of the allocation */
	u8 end[CHUNK_PAGE];         /* enum chunk_end */
	u8 chunk_class[CHUNK_PAGE]; /* enum chunk_class, of the last scan */
};

/* What can be said of all chunks of a page at once, so that a search passes over pages in which
 * nothing can be found. Ticks as in the columns; a range whose first is above its last is empty. */
struct chunk_zone {
	u64 alloc_first, alloc_last;
	u64 free_first, free_last; /* of those that were freed, whoever saw it */
	u64 min_size, max_size;
	u32 chunks;  /* that are known */
	u32 unfreed; /* of these */
};

struct chunk_table {                    /* all zero = empty and ready */
	VEC(struct chunk_page *) pages; /* NULL: no chunk of that page is known */
	u64 count;                      /* highest chunk number + 1 */
	VEC(struct chunk_zone) zones;   /* by page, once they are made */
	struct column_store *store;     /* where pages lie; NULL = in memory of their own */
};

/* The page that holds the chunk, made if needed; NULL if there is no memory. */
struct chunk_page *chunk_table_add(struct chunk_table *self, u64 chunk);
void chunk_table_release(struct chunk_table *self);

/* Makes the zones of all pages, unless they are there (a mapped model has them). One pass over the
 * chunks, for those that search more than once; after that no chunk may change. False if there is
 * no memory. */
bool chunk_table_make_zones(struct chunk_table *self);

/* The zone of a page, chunk / CHUNK_PAGE; NULL if zones were not made. */
static inline const struct chunk_zone *chunk_zone(const struct chunk_table *self, u64 page)
{
	return page < self->zones.count ? &self->zones.data[page] : NULL;
}

/* Whether each number >> shift is that of a chunk whose page is known, for lists that came from the
 * table's file. */
bool chunk_table_has_all(const struct chunk_table *self, const u32 *numbers, u64 count, u32 shift);

/* For whoever passes over all chunks of a table that may be larger than memory: these chunks (whole
 * pages of them) are not needed soon. They may be read at any time all the same, by other threads,
 * too. Does nothing to tables in memory, and to that part of a mapped one which may stay. */
void chunk_table_release_range(const struct chunk_table *self, u64 first, u64 end);

enum { CHUNK_STRIDE = 32 * CHUNK_PAGE }; /* what a pass has in memory: 28 MB */

/* The same for a plain loop: called with each chunk in turn, it lets go of what lies behind. */
static inline void chunk_table_pass(const struct chunk_table *self, u64 chunk)
{
	if (unlikely(chunk % CHUNK_STRIDE == 0 && chunk && self->store))
		chunk_table_release_range(self, chunk - CHUNK_STRIDE, chunk);
}

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
