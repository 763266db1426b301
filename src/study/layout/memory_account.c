/* SPDX-License-Identifier: MIT
 * Pictures of resident memory by account; see memory_account.h.
 * Host. Bytes of each account are summed by pixel, and the pixel shows the largest. */
#include "study/layout/memory_account.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/bytemap.h"

enum {
	GRANULE = 8,
	WORDS = RESIDENT_PAGE / GRANULE / 64,
	PAGES_MAX = 1 << 21, /* 8 GiB that are resident */
	BYTES_PER_PIXEL_MAX = 1 << 20,
};

static const u32 NO_PAGE = UINT32_MAX;

const char *memory_account_name(enum memory_account account)
{
	static const char *const names[ACCOUNTS] = {
		[ACCOUNT_LIVE] = "live",
		[ACCOUNT_SLACK] = "slack",
		[ACCOUNT_LEFT] = "left",
		[ACCOUNT_PINNED] = "pinned",
		[ACCOUNT_CACHED] = "cached",
		[ACCOUNT_ABSENT] = "not_resident",
		[ACCOUNT_OTHER] = "other",
		[ACCOUNT_PINS] = "pins",
		[ACCOUNT_THREAD_CACHES] = "thread_caches",
	};

	return names[account];
}

/* A page of the allocator that is resident. */
struct page {
	u64 address;
	/* by granule: by a live block, by one that was freed, by one in a cache of a thread */
	u64 covered[WORDS], freed[WORDS], caches[WORDS];
	u64 chunk; /* a live one */
	u16 live_bytes;
	bool shared; /* several live chunks */
	bool held;   /* it is given back with others only, and a live block lies on one of these */
};

struct painter {
	struct memory_view *view;
	const struct memory_query *query;
	struct accounting look;
	u64 end;         /* of the picture */
	u32 *first_page; /* by row; NO_PAGE = it is not the allocator's, or outside */
	struct page *pages;
	u32 page_count;
	u32 (*sums)[ACCOUNTS]; /* by pixel */
};

static void add(struct painter *self, u64 start, u64 end, enum memory_account account)
{
	u64 base = self->query->base, each = self->query->bytes_per_pixel;

	start = start > base ? start : base;
	end = end < self->end ? end : self->end;
	while (start < end) {
		u64 pixel = (start - base) / each, next = base + (pixel + 1) * each;
		u64 to = next < end ? next : end;

		self->sums[pixel][account] += (u32)(to - start);
		start = to;
	}
}

/* ---- pages ---- */

static u64 row_end(const struct stream_resident *row) { return row->start + row->bytes; }

static u64 pages_of(const struct stream_resident *row) { return row->bytes / RESIDENT_PAGE; }

/* What is resident and no block's is painted at once; pages of the allocator are listed. */
static void list_row(struct painter *self, u64 number)
{
	const struct stream_resident *row = &self->look.rows[number];

	self->first_page[number] = NO_PAGE;
	if (row->start >= self->end || row_end(row) <= self->query->base)
		return;
	if (accounting_part(&self->look, number) != PART_CACHED ||
	    self->look.first_word[number] == ACCOUNTING_NO_WORDS) {
		if (row->resident_bytes == row->bytes)
			add(self, row->start, row_end(row), ACCOUNT_OTHER);
		return;
	}
	if (pages_of(row) > PAGES_MAX - self->page_count) {
		self->view->truncated = true;
		return;
	}
	self->first_page[number] = self->page_count;
	self->page_count += (u32)pages_of(row);
}

static bool list_pages(struct painter *self)
{
	u64 rows = self->look.memory->count;

	self->first_page = arena_new_array(&self->look.arena, u32, rows + 1);
	for (u64 i = 0; self->first_page && i < rows; i++)
		list_row(self, i);
	self->pages = calloc((u64)self->page_count + 1, sizeof *self->pages);
	for (u64 i = 0; self->first_page && self->pages && i < rows; i++)
		for (u64 k = 0; self->first_page[i] != NO_PAGE && k < pages_of(&self->look.rows[i]);
		     k++)
			self->pages[self->first_page[i] + k].address =
				self->look.rows[i].start + k * RESIDENT_PAGE;
	return self->first_page && self->pages;
}

/* Where [start, end) lies on a page. */
struct piece {
	u64 from, to; /* granules */
};

static struct piece piece_of(const struct page *page, u64 start, u64 end)
{
	u64 from = start > page->address ? start - page->address : 0, to = end - page->address;

	return (struct piece){from / GRANULE, to < RESIDENT_PAGE ? (to + GRANULE - 1) / GRANULE
								 : RESIDENT_PAGE / GRANULE};
}

/* The first listed page of a row that [start, …) touches; NULL if its pages are not listed. */
static struct page *page_from(const struct painter *self, u64 row, u64 start)
{
	u64 from = self->look.rows[row].start;

	if (self->first_page[row] == NO_PAGE)
		return NULL;
	return &self->pages[self->first_page[row] +
			    (start > from ? (start - from) / RESIDENT_PAGE : 0)];
}

static void add_live_piece(struct page *page, const struct class_extent *extent, u64 chunk)
{
	struct piece piece = piece_of(page, extent->start, extent->end);
	u64 bytes = page->live_bytes + (piece.to - piece.from) * GRANULE;

	bytemap_set(page->covered, piece.from, piece.to);
	page->shared |= page->live_bytes != 0;
	page->chunk = chunk;
	page->live_bytes = (u16)(bytes < RESIDENT_PAGE ? bytes : RESIDENT_PAGE);
}

/* Pages that stay as long as the block does, though it lies on others. */
static void hold(struct painter *self, u64 address, u64 size)
{
	struct class_extent span = size_classes_span(&self->look.classes, address, size);

	for (u64 i = accounting_row(&self->look, span.start);
	     i < self->look.memory->count && self->look.rows[i].start < span.end; i++) {
		struct page *page = page_from(self, i, span.start);
		u64 last = span.end < row_end(&self->look.rows[i]) ? span.end
								   : row_end(&self->look.rows[i]);

		for (; page && page->address < last &&
		       page < self->pages + self->first_page[i] + pages_of(&self->look.rows[i]);
		     page++)
			page->held = true;
	}
}

static void add_live(struct painter *self, const struct chunk *chunk)
{
	u64 address = chunk->page->address[chunk->at];
	u64 end = address + chunk->page->size[chunk->at], at = address;
	struct class_extent extent =
		size_classes_block(&self->look.classes, address, chunk->page->size[chunk->at]);

	hold(self, address, chunk->page->size[chunk->at]);
	if (extent.start >= self->end || extent.end <= self->query->base)
		return;
	add(self, extent.start, address, ACCOUNT_SLACK);
	add(self, end, extent.end, ACCOUNT_SLACK);
	for (u64 i = accounting_row(&self->look, extent.start);
	     i < self->look.memory->count && self->look.rows[i].start < extent.end; i++) {
		const struct stream_resident *row = &self->look.rows[i];
		u64 stop = end < row_end(row) ? end : row_end(row);
		u64 last = extent.end < row_end(row) ? extent.end : row_end(row);
		struct page *page = page_from(self, i, extent.start);

		if (row->start > at)
			add(self, at, row->start, ACCOUNT_ABSENT);
		at = row->start > at ? row->start : at;
		add(self, at, stop, ACCOUNT_LIVE);
		at = stop > at ? stop : at;
		for (; page && page->address < last &&
		       page < self->pages + self->first_page[i] + pages_of(row);
		     page++)
			add_live_piece(page, &extent, chunk->number);
	}
	add(self, at, end, ACCOUNT_ABSENT);
}

/* Marks the granules of a block that is not live. */
static void add_free_block(struct painter *self, struct class_extent extent, bool cached)
{
	if (extent.start >= self->end || extent.end <= self->query->base ||
	    extent.end < extent.start)
		return;
	for (u64 i = accounting_row(&self->look, extent.start);
	     i < self->look.memory->count && self->look.rows[i].start < extent.end; i++) {
		struct page *page = page_from(self, i, extent.start);
		u64 last = extent.end < row_end(&self->look.rows[i]) ? extent.end
								     : row_end(&self->look.rows[i]);

		for (; page && page->address < last &&
		       page < self->pages + self->first_page[i] + pages_of(&self->look.rows[i]);
		     page++) {
			struct piece piece = piece_of(page, extent.start, extent.end);

			bytemap_set(cached ? page->caches : page->freed, piece.from, piece.to);
		}
	}
}

static void add_freed(struct painter *self, const struct chunk *chunk)
{
	add_free_block(self,
		       size_classes_block(&self->look.classes, chunk->page->address[chunk->at],
					  chunk->page->size[chunk->at]),
		       false);
}

static void add_caches(struct painter *self)
{
	for (u64 i = 0; i < self->look.caches.blocks.count; i++) {
		const struct cache_block *block = &self->look.caches.blocks.data[i];
		u64 start = block->address - CACHES_HEAD;

		add_free_block(self, (struct class_extent){start, start + block->bytes}, true);
	}
}

static enum memory_account free_account(const struct page *page, u32 granule)
{
	if (bytemap_has(page->caches, granule))
		return ACCOUNT_THREAD_CACHES;
	if (!page->live_bytes && !page->held)
		return ACCOUNT_CACHED;
	return bytemap_has(page->freed, granule) ? ACCOUNT_LEFT : ACCOUNT_PINNED;
}

static bool is_all_cached(const struct page *page)
{
	u64 caches = 0;

	for (u32 i = 0; i < WORDS; i++)
		caches |= page->caches[i];
	return !page->live_bytes && !page->held && !caches;
}

/* What is free on a page. */
static void add_free(struct painter *self, const struct page *page)
{
	if (is_all_cached(page)) {
		add(self, page->address, page->address + RESIDENT_PAGE, ACCOUNT_CACHED);
		return;
	}
	for (u32 i = 0; i < RESIDENT_PAGE / GRANULE; i++)
		if (!bytemap_has(page->covered, i))
			add(self, page->address + i * GRANULE, page->address + (i + 1) * GRANULE,
			    free_account(page, i));
}

/* ---- the view ---- */

/* Of several pages in one pixel the one that a single block holds. */
static bool list_page(struct painter *self, const struct page *page)
{
	u64 base = self->query->base, each = self->query->bytes_per_pixel;
	u64 from = page->address > base ? page->address : base;
	u64 to = page->address + RESIDENT_PAGE < self->end ? page->address + RESIDENT_PAGE
							   : self->end;
	struct memory_page one = {.address = page->address, .live_bytes = page->live_bytes};
	struct memory_page *last = self->view->pages.count
					   ? &self->view->pages.data[self->view->pages.count - 1]
					   : NULL;

	if (to <= from)
		return true;
	one.start = (u32)((from - base) / each);
	one.count = (u32)((to - 1 - base) / each) - one.start + 1;
	one.pinned = page->live_bytes && !page->shared && page->live_bytes < RESIDENT_PAGE / 2;
	one.chunk = page->chunk;
	if (last && last->start == one.start) {
		if (one.pinned && !last->pinned)
			*last = one;
		return true;
	}
	if (self->view->pages.count == MEMORY_RUNS_MAX) {
		self->view->truncated = true;
		return true;
	}
	return vec_push(&self->view->pages, one);
}

static void choose_pixels(struct painter *self, u64 pixels)
{
	for (u64 i = 0; i < pixels; i++) {
		u32 most = 0;

		for (u32 account = 0; account < ACCOUNTS; account++)
			if (self->sums[i][account] > most) {
				most = self->sums[i][account];
				self->view->pixels[i] = (u8)(account + 1);
			}
	}
}

/* However little it is, the block that holds a page is seen. */
static void mark_pins(struct painter *self)
{
	u64 base = self->query->base, each = self->query->bytes_per_pixel;

	for (u64 i = 0; i < self->view->pages.count && each < RESIDENT_PAGE; i++) {
		const struct memory_page *page = &self->view->pages.data[i];
		struct chunk chunk = {.model = self->look.model};
		u64 from, to;

		if (!page->pinned || !chunk_take(&chunk, page->chunk))
			continue;
		from = chunk.page->address[chunk.at];
		to = from + chunk.page->size[chunk.at];
		from = from > page->address ? from : page->address;
		to = to < page->address + RESIDENT_PAGE ? to : page->address + RESIDENT_PAGE;
		for (; from < to && from < self->end; from += each)
			if (from >= base)
				self->view->pixels[(from - base) / each] = ACCOUNT_PINS + 1;
	}
}

static bool start(struct painter *self, u64 pixels)
{
	struct memory_view *view = self->view;

	self->end = self->query->base + pixels * self->query->bytes_per_pixel;
	if (self->end < self->query->base)
		self->end = UINT64_MAX;
	view->pixels = calloc(pixels + 1, 1);
	self->sums = calloc(pixels + 1, sizeof *self->sums);
	for (u32 i = 0; i < ACCOUNTS; i++)
		if (!vec_push(&view->legend, memory_account_name(i)))
			return false;
	return view->pixels && self->sums;
}

static bool paint(struct painter *self, u64 pixels)
{
	const struct accounting *look = &self->look;

	if (!start(self, pixels) || !list_pages(self))
		return false;
	EACH_CHUNK (chunk, look->model) {
		if (accounting_is_live(look, &chunk))
			add_live(self, &chunk);
		else if (chunk.page->alloc_ticks[chunk.at] <= look->memory->ticks)
			add_freed(self, &chunk);
	}
	add_caches(self);
	for (u32 i = 0; i < self->page_count; i++) {
		add_free(self, &self->pages[i]);
		if (!list_page(self, &self->pages[i]))
			return false;
	}
	choose_pixels(self, pixels);
	mark_pins(self);
	return true;
}

struct mapping {
	u64 bytes;      /* that are resident */
	u64 last, next; /* its last row, and the row behind it */
};

/* The rows from this one on that are one mapping. The recorder's rows may lie between them. */
static struct mapping mapping_of(const struct accounting *self, u64 row)
{
	struct mapping found = {0};

	do {
		if (self->rows[row].kind != MEMORY_RECORDER) {
			found.bytes += self->rows[row].resident_bytes;
			found.last = row;
		}
		row++;
	} while (row < self->memory->count &&
		 (self->rows[row].goes_on || self->rows[row].kind == MEMORY_RECORDER));
	found.next = row;
	return found;
}

static void fit(struct memory_query *query, const struct accounting *look)
{
	u64 most = 0, first = 0, end = 0, pixels = (u64)query->width * query->height, extent;

	for (u64 row = 0, next; row < look->memory->count; row = next) {
		struct mapping mapping;

		next = row + 1;
		if (look->rows[row].kind == MEMORY_RECORDER)
			continue;
		mapping = mapping_of(look, row);
		next = mapping.next;
		if (accounting_part(look, row) != PART_CACHED || mapping.bytes <= most)
			continue;
		most = mapping.bytes;
		first = look->rows[row].start / RESIDENT_PAGE * RESIDENT_PAGE;
		end = look->rows[mapping.last].start + look->rows[mapping.last].bytes;
	}
	extent = end > first ? end - first : 0;
	query->base = first;
	query->bytes_per_pixel = 1;
	while (query->bytes_per_pixel < BYTES_PER_PIXEL_MAX &&
	       (extent + query->bytes_per_pixel - 1) / query->bytes_per_pixel > pixels)
		query->bytes_per_pixel *= 2;
	pixels = query->bytes_per_pixel * query->width; /* bytes of a row */
	if (extent <= pixels * (query->height - 1))
		query->height = (u32)((extent + pixels - 1) / pixels ?: 1);
}

int memory_account_fit(struct memory_query *query, const struct model *model,
		       const struct model_memory *look, struct err *err)
{
	struct accounting accounting = accounting_of(model, look);
	int status = accounting_make(&accounting, err);

	if (status == 0)
		fit(query, &accounting);
	accounting_release(&accounting);
	return status;
}

int memory_account_make(struct memory_view *self, const struct model *model,
			const struct model_memory *look, const struct memory_query *query,
			struct err *err)
{
	struct painter painter = {.view = self, .query = query, .look = accounting_of(model, look)};
	int status = accounting_make(&painter.look, err);

	if (status == 0 && !paint(&painter, (u64)query->width * query->height))
		status = err_memory_for(err, "the memory map");
	accounting_release(&painter.look);
	free(painter.pages);
	free(painter.sums);
	return status;
}
