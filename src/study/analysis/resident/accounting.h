/* SPDX-License-Identifier: MIT
 * The resident memory of one look with the blocks that were live then laid over it: for who takes
 * it apart, by kind (resident.c) or by allocation point (bill.c).
 *
 *	struct accounting pages = accounting_of(model, memory);
 *
 *	if (accounting_make(&pages, err) == 0)
 *		for (u64 i = 0; i < pages.memory->count; i++)
 *			use(&pages.rows[i], accounting_part(&pages, i));
 *	accounting_release(&pages); */
#ifndef STUDY_ANALYSIS_RESIDENT_ACCOUNTING_H
#define STUDY_ANALYSIS_RESIDENT_ACCOUNTING_H

#include "study/analysis/resident/caches.h"
#include "study/analysis/resident/classes.h"
#include "study/model/each.h"

enum { RESIDENT_PAGE = STREAM_PAGE };

enum resident_part {
	PART_REQUESTED,     /* live blocks, what the program asked for */
	PART_SLACK,         /* the allocator's headers and rounding, of these */
	PART_PINNED,        /* free bytes of pages that live blocks hold */
	PART_CACHED,        /* pages of the allocator without a live block */
	PART_THREAD_CACHES, /* free blocks in caches of threads, in none of these */
	PART_MAPPINGS,      /* anonymous mappings without blocks */
	PART_FILES,         /* mapped files that are no modules */
	PART_CODE,          /* modules: code and data */
	PART_STACKS,
	PART_RECORDER,
	PARTS
};

struct accounting {
	const struct model *model;
	const struct model_memory *memory;
	const struct stream_resident *rows; /* by address */
	/* by row: of its pages in `used`; ACCOUNTING_NO_WORDS = not known page by page */
	u64 *first_word;
	u64 words;              /* of `used` */
	u64 *used;              /* by page, a bit: a live block holds it; mostly untouched */
	u8 *has_blocks;         /* by row: one lies or lay in its mapping */
	u64 *requested, *slack; /* by row */
	u64 absent_bytes;       /* requested by live blocks, and not resident */
	struct caches caches;   /* blocks of this look */
	/* by row: their bytes on pages that a live block holds, and on others */
	u64 *caches_held, *caches_free;
	struct size_classes classes;
	bool glibc; /* the allocator is glibc's */
	u64 work;   /* that is left, see accounting_work */
	struct arena arena;
};

#define ACCOUNTING_NO_WORDS UINT64_MAX

/* Of a look, with nothing laid over it. */
struct accounting accounting_of(const struct model *model, const struct model_memory *memory);

/* How many pages are known one by one, at most, and how many steps over pages and rows the blocks
 * that are live at once can take: a trace may claim any address space, and blocks that overlap. */
u64 accounting_pages_max(const struct model *model);
u64 accounting_work(const struct model *model, u64 pages);

/* Of these, for so many bytes of a row. */
u64 accounting_steps(const struct accounting *self, u64 row, u64 bytes);

/* False if no work is left. */
static inline bool work_spend(u64 *work, u64 steps)
{
	*work -= steps < *work ? steps : *work;
	return *work != 0;
}

/* One pass over the chunks. 0 or ERR_MEMORY; released in either case. */
int accounting_make(struct accounting *self, struct err *err);
void accounting_release(struct accounting *self);

/* The row that ends after the address; count if there is none. */
u64 accounting_row(const struct accounting *self, u64 address);

/* What a row is besides its blocks; and if it is known whether some lie or lay in its mapping. */
enum resident_part accounting_part(const struct accounting *self, u64 row);
enum resident_part accounting_part_of(const struct stream_resident *row, bool has_blocks);

/* Whether the block is a mapping of its own, which goes when it is freed. */
bool accounting_is_mapped_alone(const struct accounting *self, u64 address, u64 size);

/* What of [start, end) is resident, also with nothing laid over it; less if no work is left.
 * accounting_make leaves as much for it as it had itself. */
u64 accounting_bytes(struct accounting *self, u64 start, u64 end);

/* Chunks whose address and size make no sense are at no time. */
static inline bool accounting_is_live(const struct accounting *self, const struct chunk *chunk)
{
	const struct chunk_page *page = chunk->page;
	u32 at = chunk->at;

	return page->alloc_ticks[at] <= self->memory->ticks &&
	       (!page->free_ticks[at] || page->free_ticks[at] > self->memory->ticks) &&
	       page->address[at] + page->size[at] >= page->address[at];
}

#endif
