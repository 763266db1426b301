/* SPDX-License-Identifier: MIT
 * Charges resident memory to allocation points; see bill.h.
 * Host. Blocks that are live are laid over the pages first. Then blocks that were freed, the latest
 * first: whatever was not covered before is theirs. */
#include "study/analysis/resident/bill.h"

#include <stdlib.h>

#include "host/base/bytemap.h"
#include "host/base/order.h"
#include "study/analysis/resident/accounting.h"

enum {
	GRANULE = 8,
	PAGE_WORDS = RESIDENT_PAGE / GRANULE / 64,
	REST = 2048,
};

static const u32 NO_PAGE = UINT32_MAX;

struct billing {
	struct bill *bill;
	struct accounting pages;
	u32 *first_page; /* by row; NO_PAGE = it is not the allocator's, or not known by page */
	u64 *covered;    /* by page, PAGE_WORDS: a bit for each granule */
	u64 uncovered;   /* granules without a bit */
	u32 *open;    /* by page: itself, or one nearer to the next with a granule without a bit */
	u64 *held;    /* by page, a bit: the span of a live block begins there */
	bool in_span; /* the block in progress lies in a span that is given back as a whole */
	u32 span_first;   /* of that span; NO_PAGE = it has no page yet */
	u64 work;         /* that is left for live blocks, see accounting_work */
	bool only_open;   /* pieces on pages that are covered as a whole are passed over */
	u64 cached_bytes; /* of the block in progress, in a cache of a thread */
	u64 uncharged;    /* blocks there whose point is not known yet */
	bool failed;      /* out of memory */
};

/* ---- pages ---- */

static bool is_listed(const struct billing *self, u64 row)
{
	return accounting_part(&self->pages, row) == PART_CACHED &&
	       self->pages.first_word[row] != ACCOUNTING_NO_WORDS;
}

static bool list_row(struct billing *self, u64 row)
{
	const struct stream_resident *rows = self->pages.rows;
	struct bill *bill = self->bill;
	u64 count = rows[row].bytes / RESIDENT_PAGE;

	self->first_page[row] = NO_PAGE;
	if (!is_listed(self, row))
		return true;
	if ((!rows[row].goes_on || !bill->heaps.count) &&
	    !vec_push(&bill->heaps, ((struct bill_heap){rows[row].start, bill->page_count, 0})))
		return false;
	self->first_page[row] = bill->page_count;
	bill->page_count += (u32)count;
	bill->heaps.data[bill->heaps.count - 1].end = bill->page_count;
	return true;
}

static bool list_pages(struct billing *self)
{
	struct bill *bill = self->bill;
	u64 rows = self->pages.memory->count;

	self->first_page = arena_new_array(&self->pages.arena, u32, rows + 1);
	for (u64 i = 0; i < rows; i++)
		if (!self->first_page || !list_row(self, i))
			return false;
	bill->page_used = calloc((u64)bill->page_count + 1, sizeof *bill->page_used);
	bill->page_caches = calloc((u64)bill->page_count + 1, sizeof *bill->page_caches);
	bill->page_span = calloc((u64)bill->page_count + 1, sizeof *bill->page_span);
	self->covered = calloc((u64)bill->page_count + 1, PAGE_WORDS * sizeof *self->covered);
	self->open = calloc((u64)bill->page_count + 1, sizeof *self->open);
	self->held = calloc((u64)bill->page_count / 64 + 1, sizeof *self->held);
	self->uncovered = (u64)bill->page_count * PAGE_WORDS * 64;
	self->work = accounting_work(bill->model, bill->page_count);
	if (!bill->page_used || !bill->page_caches || !bill->page_span || !self->covered ||
	    !self->open || !self->held)
		return false;
	for (u32 page = 0; page <= bill->page_count; page++)
		bill->page_span[page] = self->open[page] = page;
	return true;
}

/* The first page from this one on that is not covered as a whole. */
static u32 open_from(struct billing *self, u32 page)
{
	while (self->open[page] != page)
		page = self->open[page] = self->open[self->open[page]];
	return page;
}

/* What of a block lies in one page. */
struct piece {
	u32 page;
	u32 from, to; /* bytes */
};

typedef void piece_fn(struct billing *self, const struct piece *piece, struct point_id point);

/* Calls `each` for every listed page on which [start, end) lies. */
static void each_piece(struct billing *self, const struct class_extent *extent,
		       struct point_id point, piece_fn *each)
{
	const struct stream_resident *rows = self->pages.rows;

	for (u64 i = accounting_row(&self->pages, extent->start);
	     i < self->pages.memory->count && rows[i].start < extent->end; i++) {
		u64 from = extent->start > rows[i].start ? extent->start - rows[i].start : 0;
		u64 to = extent->end - rows[i].start;

		if (self->first_page[i] == NO_PAGE)
			continue;
		if (to > rows[i].bytes)
			to = rows[i].bytes;
		while (from < to) {
			u64 page = from / RESIDENT_PAGE, next = (page + 1) * RESIDENT_PAGE;
			u64 end = next < to ? next : to;
			u32 open = self->only_open
					   ? open_from(self, self->first_page[i] + (u32)page) -
						     self->first_page[i]
					   : (u32)page;

			if (!self->only_open && !work_spend(&self->work, 1))
				return;
			if (open != page) {
				from = (u64)open * RESIDENT_PAGE;
				continue;
			}
			each(self,
			     &(struct piece){self->first_page[i] + (u32)page,
					     (u32)(from % RESIDENT_PAGE),
					     (u32)(end - page * RESIDENT_PAGE)},
			     point);
			from = next;
		}
	}
}

static bool is_full(const u64 *words)
{
	u64 all = UINT64_MAX;

	for (u32 i = 0; i < PAGE_WORDS; i++)
		all &= words[i];
	return all == UINT64_MAX;
}

/* Covers the granules of a piece; how many were not. */
static u32 cover(struct billing *self, const struct piece *piece)
{
	u64 *words = self->covered + (u64)piece->page * PAGE_WORDS;
	u32 from = piece->from / GRANULE, to = (piece->to + GRANULE - 1) / GRANULE, found = 0;

	while (from < to) {
		u32 word = from / 64, low = from % 64;
		u32 count = to - from < 64 - low ? to - from : 64 - low;
		u64 mask = (count < 64 ? (1ull << count) - 1 : UINT64_MAX) << low;

		found += (u32)__builtin_popcountll(mask & ~words[word]);
		words[word] |= mask;
		from += count;
	}
	self->uncovered -= found;
	if (found && is_full(words))
		self->open[piece->page] = piece->page + 1;
	return found;
}

/* ---- live blocks ---- */

static void add_live(struct billing *self, const struct piece *piece, struct point_id point)
{
	struct bill *bill = self->bill;
	u16 *used = &bill->page_used[piece->page];
	u32 bytes = piece->to - piece->from, room = RESIDENT_PAGE - *used;

	cover(self, piece);
	*used += (u16)(bytes < room ? bytes : room);
	if ((bytes < RESIDENT_PAGE || self->in_span) &&
	    !vec_push(&bill->parts, ((struct bill_part){piece->page, point.index, bytes})))
		self->failed = true;
}

/* Joins a page to those before it. Two spans never share a page; where they seem to, the first one
 * that is seen has it. */
static void add_to_span(struct billing *self, const struct piece *piece, struct point_id point)
{
	struct bill *bill = self->bill;
	u32 page = piece->page, *span = &bill->page_span[page];
	bool leads = page + 1 < bill->page_count && bill->page_span[page + 1] == page;

	(void)point;
	if (*span == page && !leads && self->span_first != NO_PAGE &&
	    bill->page_span[page - 1] == self->span_first)
		*span = self->span_first;
	else
		self->span_first = *span;
	bytemap_set(self->held, *span, *span + 1ull);
}

static void add_live_chunk(struct billing *self, const struct chunk *chunk)
{
	u64 address = chunk->page->address[chunk->at], size = chunk->page->size[chunk->at];
	const struct size_classes *classes = &self->pages.classes;
	struct class_extent block = size_classes_block(classes, address, size);
	struct class_extent span = size_classes_span(classes, address, size);
	struct point_id point = chunk_point(chunk);
	struct bill_line *line = &self->bill->lines[point.index];

	line->blocks++;
	line->requested_bytes += accounting_bytes(&self->pages, address, address + size);
	line->slack_bytes += accounting_bytes(&self->pages, block.start, address) +
			     accounting_bytes(&self->pages, address + size, block.end);
	self->in_span = span.start < block.start || span.end > block.end;
	self->span_first = NO_PAGE;
	each_piece(self, &block, point, add_live);
	if (!self->in_span)
		return;
	each_piece(self, &span, point, add_to_span);
	/* the block may have no resident page itself, and keeps those of its span all the same */
	if (self->span_first != NO_PAGE &&
	    !vec_push(&self->bill->parts, ((struct bill_part){self->span_first, point.index, 0})))
		self->failed = true;
}

static int by_page(const void *a, const void *b)
{
	const struct bill_part *x = a, *y = b;

	return x->page != y->page ? rising(x->page, y->page) : rising(x->point, y->point);
}

/* One part for each point of a page or span. */
static void join_parts(struct bill *bill)
{
	struct bill_part *parts = bill->parts.data;
	u64 count = 0;

	for (u64 i = 0; i < bill->parts.count; i++)
		parts[i].page = bill->page_span[parts[i].page];
	vec_sort(&bill->parts, by_page);
	for (u64 i = 0; i < bill->parts.count; i++) {
		if (count && by_page(&parts[count - 1], &parts[i]) == 0)
			parts[count - 1].bytes += parts[i].bytes;
		else
			parts[count++] = parts[i];
	}
	bill->parts.count = count;
}

/* What is free on a page or span goes to those who hold it, in equal parts. */
static void charge_pinned(struct bill *bill)
{
	const struct bill_part *parts = bill->parts.data;
	u64 end;

	for (u64 i = 0; i < bill->parts.count; i = end) {
		u32 page = parts[i].page, pages_end = bill_span_end(bill, page);
		u64 free_bytes = (u64)(pages_end - page) * RESIDENT_PAGE -
				 bill_span_used(bill, page, pages_end);

		for (end = i + 1; end < bill->parts.count && parts[end].page == page;)
			end++;
		for (u64 k = i; k < end; k++)
			bill->lines[parts[k].point].pinned_bytes +=
				free_bytes / (end - i) + (k - i < free_bytes % (end - i));
		if (end == i + 1)
			bill->lines[parts[i].point].alone_pages += pages_end - page;
	}
}

/* ---- caches of threads ---- */

static void add_cached(struct billing *self, const struct piece *piece, struct point_id point)
{
	const struct bill *bill = self->bill;
	u32 room = RESIDENT_PAGE - bill->page_used[piece->page] - bill->page_caches[piece->page];
	u32 bytes = piece->to - piece->from < room ? piece->to - piece->from : room;

	(void)point;
	cover(self, piece);
	bill->page_caches[piece->page] = (u16)(bill->page_caches[piece->page] + bytes);
	self->cached_bytes += bytes;
}

/* From here on a block's state is what it has on these pages. */
static void add_caches(struct billing *self)
{
	struct caches *caches = &self->pages.caches;

	for (u64 i = 0; i < caches->blocks.count; i++) {
		struct cache_block *block = &caches->blocks.data[i];
		u64 start = block->address - CACHES_HEAD;

		self->cached_bytes = 0;
		each_piece(self, &(struct class_extent){start, start + block->bytes},
			   (struct point_id){0}, add_cached);
		block->state = (u32)self->cached_bytes;
		self->uncharged += block->state != 0;
		self->bill->strange_bytes += block->state;
	}
}

/* The last block that was freed there is the one in the cache. */
static void charge_cached(struct billing *self, const struct chunk *chunk)
{
	const struct caches *caches = &self->pages.caches;
	u64 address = chunk->page->address[chunk->at];
	u64 at = address < caches->low || address > caches->high ? caches->blocks.count
								 : caches_find(caches, address);
	struct cache_block *block = at < caches->blocks.count ? &caches->blocks.data[at] : NULL;

	if (!block || block->address != address || !block->state)
		return;
	self->bill->lines[chunk_point(chunk).index].caches_bytes += block->state;
	self->bill->strange_bytes -= block->state;
	block->state = 0;
	self->uncharged--;
}

/* ---- freed blocks ---- */

static bool is_held(const struct billing *self, u32 page)
{
	return self->bill->page_used[page] || bytemap_has(self->held, self->bill->page_span[page]);
}

static void add_freed(struct billing *self, const struct piece *piece, struct point_id point)
{
	struct bill_line *line = &self->bill->lines[point.index];
	u64 bytes = (u64)cover(self, piece) * GRANULE;

	if (is_held(self, piece->page))
		line->left_bytes += bytes;
	else
		line->cached_bytes += bytes;
}

/* Of two blocks in one place the one that was freed later was allocated later, and has the higher
 * number. */
static void add_freed_chunks(struct billing *self)
{
	const struct model *model = self->pages.model;
	u64 ticks = self->pages.memory->ticks;
	struct chunk chunk = {.model = model};

	self->only_open = true;
	for (u64 i = model->chunks.count; i-- > 0 && (self->uncovered || self->uncharged);) {
		struct class_extent block;

		if (i % REST == 0)
			model_rest(model);
		if (!chunk_take(&chunk, i) || !chunk_is_freed(&chunk) ||
		    chunk.page->free_ticks[chunk.at] > ticks)
			continue;
		if (self->uncharged)
			charge_cached(self, &chunk);
		block = size_classes_block(&self->pages.classes, chunk.page->address[chunk.at],
					   chunk.page->size[chunk.at]);
		each_piece(self, &block, chunk_point(&chunk), add_freed);
	}
}

static void count_unused(struct billing *self)
{
	for (u32 page = 0; page < self->bill->page_count; page++) {
		const u64 *words = self->covered + (u64)page * PAGE_WORDS;
		u64 *sum = &self->bill->unused_bytes[is_held(self, page)];

		for (u32 i = 0; i < PAGE_WORDS; i++)
			*sum += (u64)__builtin_popcountll(~words[i]) * GRANULE;
	}
}

/* ---- all ---- */

static int charge(struct billing *self, struct err *err)
{
	struct bill *bill = self->bill;

	bill->lines = calloc((u64)bill->model->points.count + 1, sizeof *bill->lines);
	if (!bill->lines || !list_pages(self))
		return err_memory_for(err, "the resident memory");
	EACH_CHUNK (chunk, bill->model)
		if (accounting_is_live(&self->pages, &chunk))
			add_live_chunk(self, &chunk);
	if (self->failed)
		return err_memory_for(err, "the resident memory");
	join_parts(bill);
	add_caches(self);
	charge_pinned(bill);
	add_freed_chunks(self);
	count_unused(self);
	return 0;
}

u64 bill_caches_hold(const struct bill *self)
{
	u64 bytes = 0, cached = self->account.bytes[PART_CACHED];

	for (u32 page = 0; page < self->page_count; page++)
		if (!self->page_used[page] && self->page_caches[page])
			bytes += RESIDENT_PAGE - self->page_caches[page];
	return bytes < cached ? bytes : cached;
}

int bill_make(struct bill *self, const struct model *model, const struct model_memory *memory,
	      struct err *err)
{
	struct billing billing = {.bill = self, .pages = accounting_of(model, memory)};
	int status = accounting_make(&billing.pages, err);

	*self = (struct bill){.model = model,
			      .memory = memory,
			      .glibc = billing.pages.glibc,
			      .basis = billing.pages.classes.basis,
			      .allocator = size_classes_allocator(&billing.pages.classes)};
	if (status == 0)
		resident_sum(&billing.pages, &self->account);
	if (status == 0)
		status = charge(&billing, err);
	free(billing.covered);
	free(billing.open);
	free(billing.held);
	self->caches = billing.pages.caches;
	billing.pages.caches = (struct caches){0};
	accounting_release(&billing.pages);
	return status;
}

void bill_release(struct bill *self)
{
	free(self->lines);
	free(self->page_used);
	free(self->page_caches);
	free(self->page_span);
	vec_release(&self->parts);
	vec_release(&self->heaps);
	caches_release(&self->caches);
	*self = (struct bill){0};
}
