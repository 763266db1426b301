/* SPDX-License-Identifier: MIT
 * Every resident byte of the heap charged to a line of code. Defined in docs/METHODS.md.
 *
 *	struct bill bill = {0};
 *
 *	if (bill_make(&bill, model, memory, &err) == 0)
 *		use(bill.lines[point.index].pinned_bytes);
 *	bill_release(&bill); */
#ifndef STUDY_ANALYSIS_RESIDENT_BILL_H
#define STUDY_ANALYSIS_RESIDENT_BILL_H

#include "study/analysis/resident/resident.h"

/* What an allocation point has on its account. The first three, cached_bytes and caches_bytes are
 * parts of the whole, each byte in one of them; left_bytes are pinned ones a second time. */
struct bill_line {
	u64 requested_bytes, slack_bytes; /* of its live blocks */
	/* free bytes of pages with live blocks, in equal parts to the points that have one there */
	u64 pinned_bytes;
	u64 cached_bytes; /* in pages without a live block, where its block was the last */
	u64 left_bytes;   /* the same in pages with a live block */
	u64 caches_bytes; /* of its freed blocks that are in caches of threads */
	u64 blocks;       /* live ones */
	u64 alone_pages;  /* whose live blocks are all its own */
};

/* A live block's part of pages that are given back together: of one page, or of those of a span,
 * where `page` is the first. By page, then by point. */
struct bill_part {
	u32 page;
	u32 point;
	u32 bytes;
};

/* A mapping of the allocator: its resident pages are [first, end), by address. */
struct bill_heap {
	u64 start;
	u32 first, end;
};

struct bill { /* all zero = empty */
	const struct model *model;
	const struct model_memory *memory;
	struct resident_account account;
	struct bill_line *lines; /* by point */
	u64 unused_bytes
		[2];       /* in which no known block ever lay: of pages without, with a live one */
	u64 strange_bytes; /* of blocks in caches of threads that are no known blocks */
	bool glibc;
	enum classes_basis basis; /* of slack */
	const char *allocator;    /* whose rules say what slack is; NULL = no rules are used */
	/* pages of the allocator, by address, and who has live blocks there, unless one block fills
	 * the page */
	u32 page_count;
	u16 *page_used;   /* by page: bytes of live blocks, headers and rounding included */
	u16 *page_caches; /* by page: bytes of blocks in caches of threads */
	u32 *page_span;   /* by page: the first one of those that are given back together with it */
	VEC(struct bill_part) parts;
	VEC(struct bill_heap) heaps;
	struct caches caches; /* blocks in caches of threads */
};

/* Two passes over the chunks. 0 or ERR_MEMORY; released in either case. */
int bill_make(struct bill *self, const struct model *model, const struct model_memory *memory,
	      struct err *err);
void bill_release(struct bill *self);

/* The page behind those that are given back together with this one, which is the first of them. */
static inline u32 bill_span_end(const struct bill *self, u32 page)
{
	u32 end = page + 1;

	while (end < self->page_count && self->page_span[end] == page)
		end++;
	return end;
}

/* Bytes of live blocks on the pages [page, end), and of those in caches of threads. */
static inline u64 bill_span_used(const struct bill *self, u32 page, u32 end)
{
	u64 bytes = 0;

	for (; page < end; page++)
		bytes += self->page_used[page] + self->page_caches[page];
	return bytes;
}

/* Free bytes of pages that nothing but caches of threads hold. They count as cached, and
 * malloc_trim leaves them. */
u64 bill_caches_hold(const struct bill *self);

/* Whether a cache of a thread has a block on the pages [page, end), so that they stay. */
static inline bool bill_has_caches(const struct bill *self, u32 page, u32 end)
{
	for (; page < end; page++)
		if (self->page_caches[page])
			return true;
	return false;
}

#endif
