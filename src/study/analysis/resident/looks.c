/* SPDX-License-Identifier: MIT
 * Takes the resident memory of all looks apart in one go; see looks.h.
 * Host. Goes from look to look with the bytes of each page that was ever resident: adds the blocks
 * that came, takes away those that went, and adds up the pages that are resident now. */
#include "study/analysis/resident/looks.h"

#include <stdlib.h>

#include "host/base/order.h"
#include "host/base/search.h"

static const u64 SPARSE_LEAST = 1 << 30;
/* Pages of all looks that are shown: some seconds' work. */
static const u64 VISITS_MAX = 1ull << 31;
enum { LOOKS_MIN = 16, GAP_VISITS_MAX = 1 << 28 };

#define AFTER_MARK_NS 250000000ull /* a later look has another reason */

struct page {
	u16 requested, slack; /* by blocks that are live */
	u16 holds;            /* live blocks with which it is given back, and not before */
	u16 since;            /* 1 + the look before which the first block was there; 0 = none */
};

/* Pages that were resident at some look, side by side. */
struct span {
	u64 start, end;
	u64 first; /* page */
	u16 since; /* as that of a page, of what lies before it and behind the span before */
};

/* Chunks by look: list[ends[i - 1]] … list[ends[i] - 1] are those of look i. */
struct by_look {
	u64 ends[LOOKS_MAX + 1];
	u32 *list;
};

struct walk {
	const struct model *model;
	struct accounting rules;
	struct resident_looks *looks;
	VEC(struct span) spans;
	struct page *pages;
	struct by_look came, went;
	struct caches caches;
	u64 work;     /* that is left, see accounting_work */
	u64 gap_work; /* the same, for pages between rows */
};

static int by_time(const void *a, const void *b)
{
	const struct resident_look *x = a, *y = b;

	return rising(x->memory->ticks, y->memory->ticks);
}

/* The recorder reserves much of which little is resident, and so do files of a database: no block
 * is there. */
static bool is_walked(const struct stream_resident *row)
{
	bool sparse = row->resident_bytes < row->bytes / 4;

	switch (row->kind) {
	case MEMORY_RECORDER: return row->bytes && !sparse;
	case MEMORY_FILE: return row->bytes && !(sparse && row->bytes >= SPARSE_LEAST);
	default: return row->bytes != 0;
	}
}

u64 resident_looks_shown(const struct model *model)
{
	u64 count = model->memory.count, most = accounting_pages_max(model), visits = 1, shown;

	for (u64 i = 0; i < model->residents.count; i++) {
		u64 pages = model->residents.data[i].bytes / RESIDENT_PAGE;

		if (is_walked(&model->residents.data[i]) && pages <= most)
			visits += pages;
	}
	if (!count)
		return 0;
	shown = VISITS_MAX / (visits / count + 1);
	shown = shown < LOOKS_MIN ? LOOKS_MIN : shown < LOOKS_MAX ? shown : LOOKS_MAX;
	return shown < count ? shown : count;
}

const struct model_memory *resident_look_shown(const struct model *model, u64 number, u64 shown)
{
	u64 count = model->memory.count;

	return &model->memory.data[shown < count ? number * (count - 1) / (shown - 1) : number];
}

static bool choose_looks(struct resident_looks *self, const struct model *model)
{
	u64 shown = resident_looks_shown(model);

	for (u64 i = 0; i < shown; i++)
		if (!vec_push(&self->rows,
			      ((struct resident_look){
				      .memory = resident_look_shown(model, i, shown)})))
			return false;
	vec_sort(&self->rows, by_time);
	return true;
}

/* A trace of an earlier version has no reasons: a look that comes soon after a mark is because of
 * it. */
static void infer_kinds(struct resident_looks *self, const struct model *model)
{
	struct resident_look *rows = self->rows.data;

	for (u64 i = 0; i < model->marks.count; i++) {
		const struct model_mark *mark = &model->marks.data[i];
		u64 look = bisect(at, self->rows.count, rows[at].memory->ticks < mark->ticks);

		if (look == self->rows.count || rows[look].memory->why ||
		    tick_clock_ns(&model->clock, rows[look].memory->ticks) -
				    tick_clock_ns(&model->clock, mark->ticks) >
			    AFTER_MARK_NS)
			continue;
		rows[look].mark = mark;
		rows[look].kind = mark->kind == HW_MARK_SNAPSHOT ? LOOK_SNAPSHOT : LOOK_MARK;
	}
}

static void find_kinds(struct resident_looks *self, const struct model *model)
{
	infer_kinds(self, model);
	for (u64 i = 0; i < self->rows.count; i++) {
		struct resident_look *look = &self->rows.data[i];
		u32 why = look->memory->why;
		u64 after = bisect(at, model->marks.count,
				   model->marks.data[at].ticks <= look->memory->ticks);

		if (why == MEMORY_MARK || why == MEMORY_SNAPSHOT) {
			look->kind = why == MEMORY_MARK ? LOOK_MARK : LOOK_SNAPSHOT;
			look->mark = after ? &model->marks.data[after - 1] : NULL;
		}
		if (look->memory->moment == MEMORY_END)
			look->kind = LOOK_END;
	}
}

/* ---- pages ---- */

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return rising(x->start, y->start);
}

static bool list_rows(struct walk *self, const struct model_memory *memory)
{
	for (u64 i = 0; i < memory->count; i++) {
		const struct stream_resident *row = &self->model->residents.data[memory->first + i];
		u64 start = row->start / RESIDENT_PAGE * RESIDENT_PAGE;

		if (is_walked(row) &&
		    !vec_push(&self->spans,
			      ((struct span){.start = start, .end = row->start + row->bytes})))
			return false;
	}
	return true;
}

static void join_spans(struct walk *self)
{
	struct span *spans = self->spans.data;
	u64 count = 0;

	if (!self->spans.count)
		return;
	qsort(spans, self->spans.count, sizeof *spans, by_start);
	for (u64 i = 0; i < self->spans.count; i++) {
		if (spans[i].end < spans[i].start)
			continue;
		if (count && spans[count - 1].end >= spans[i].start) {
			if (spans[i].end > spans[count - 1].end)
				spans[count - 1].end = spans[i].end;
		} else {
			spans[count++] = spans[i];
		}
	}
	self->spans.count = count;
}

static bool list_pages(struct walk *self)
{
	u64 pages = 0, listed = 0, pages_max = accounting_pages_max(self->model);

	for (u64 i = 0; i < self->looks->rows.count; i++)
		if (!list_rows(self, self->looks->rows.data[i].memory))
			return false;
	join_spans(self);
	for (u64 i = 0; i < self->spans.count; i++) {
		struct span span = self->spans.data[i];
		u64 more = (span.end - span.start + RESIDENT_PAGE - 1) / RESIDENT_PAGE;

		if (more > pages_max - pages)
			continue;
		span.first = pages;
		self->spans.data[listed++] = span;
		pages += more;
	}
	self->spans.count = listed;
	self->work = accounting_work(self->model, 0) + pages * self->looks->rows.count;
	self->pages = calloc(pages + 1, sizeof *self->pages);
	return self->pages != NULL;
}

/* The first span that ends after the address. */
static u64 span_from(const struct walk *self, u64 address)
{
	return bisect(i, self->spans.count, self->spans.data[i].end <= address);
}

static struct page *page_at(const struct walk *self, const struct span *span, u64 address)
{
	return &self->pages[span->first + (address - span->start) / RESIDENT_PAGE];
}

/* Adds what of [start, end) lies on each page, or takes it away again: sums wrap. */
static void add_range(struct walk *self, u64 start, u64 end, bool requested, bool goes)
{
	for (u64 i = span_from(self, start); i < self->spans.count; i++) {
		const struct span *span = &self->spans.data[i];
		u64 from = start > span->start ? start : span->start;
		u64 to = end < span->end ? end : span->end;

		if (span->start >= end || !work_spend(&self->work, 1 + (to - from) / RESIDENT_PAGE))
			return;
		while (from < to) {
			struct page *page = page_at(self, span, from);
			u64 next = (from / RESIDENT_PAGE + 1) * RESIDENT_PAGE;
			u64 bytes = (next < to ? next : to) - from;
			u16 *sum = requested ? &page->requested : &page->slack;

			*sum = (u16)(goes ? *sum - bytes : *sum + bytes);
			from += bytes;
		}
	}
}

static void hold_range(struct walk *self, const struct class_extent *held, bool goes)
{
	for (u64 i = span_from(self, held->start); i < self->spans.count; i++) {
		const struct span *span = &self->spans.data[i];
		u64 from = held->start > span->start ? held->start : span->start;
		u64 to = held->end < span->end ? held->end : span->end;

		if (span->start >= held->end ||
		    !work_spend(&self->work, 1 + (to - from) / RESIDENT_PAGE))
			return;
		for (; from < to; from = (from / RESIDENT_PAGE + 1) * RESIDENT_PAGE) {
			u16 *holds = &page_at(self, span, from)->holds;

			*holds = (u16)(goes ? *holds - 1 : *holds + 1);
		}
	}
}

static void add_block(struct walk *self, const struct chunk *chunk, bool goes)
{
	u64 address = chunk->page->address[chunk->at], size = chunk->page->size[chunk->at];
	struct class_extent block = size_classes_block(&self->rules.classes, address, size);
	struct class_extent span = size_classes_span(&self->rules.classes, address, size);

	add_range(self, address, address + size, true, goes);
	add_range(self, block.start, address, false, goes);
	add_range(self, address + size, block.end, false, goes);
	if (span.start < block.start || span.end > block.end)
		hold_range(self, &span, goes);
}

/* ---- chunks ---- */

/* The first look that is not before the ticks. */
static u64 look_from(const struct walk *self, u64 ticks)
{
	const struct resident_look *rows = self->looks->rows.data;

	return bisect(i, self->looks->rows.count, rows[i].memory->ticks < ticks);
}

struct lives {
	u64 from, to; /* looks at which it is live */
};

static struct lives lives_of(const struct walk *self, const struct chunk *chunk)
{
	const struct chunk_page *page = chunk->page;
	u64 freed = page->free_ticks[chunk->at];
	struct lives lives = {look_from(self, page->alloc_ticks[chunk->at]),
			      freed ? look_from(self, freed) : self->looks->rows.count};

	if (page->address[chunk->at] + page->size[chunk->at] < page->address[chunk->at])
		lives.to = lives.from; /* it makes no sense */
	return lives;
}

/* A mapping in which a block lies, or lay, is the allocator's. */
static void note_mapping(struct walk *self, const struct chunk *chunk, u64 look)
{
	u64 address = chunk->page->address[chunk->at], number = span_from(self, address);
	struct span *span = &self->spans.data[number];
	u16 *since;

	if (look == self->looks->rows.count || number == self->spans.count ||
	    accounting_is_mapped_alone(&self->rules, address, chunk->page->size[chunk->at]))
		return;
	since = span->start > address ? &span->since : &page_at(self, span, address)->since;
	if (!*since || *since > look + 1)
		*since = (u16)(look + 1);
}

/* Where each look's chunks begin, from how many there are. */
static bool make_room(struct by_look *self, u64 looks)
{
	u64 sum = 0;

	for (u64 i = 0; i <= looks; i++) {
		u64 count = self->ends[i];

		self->ends[i] = sum;
		sum += count;
	}
	self->list = malloc((sum + 1) * sizeof *self->list);
	return self->list != NULL;
}

static bool sort_chunks(struct walk *self)
{
	EACH_CHUNK (chunk, self->model) {
		struct lives lives = lives_of(self, &chunk);

		note_mapping(self, &chunk, lives.from);
		caches_drop(&self->caches, chunk.page->address[chunk.at],
			    (struct caches_looks){lives.from, lives.to});
		if (lives.from >= lives.to)
			continue;
		self->came.ends[lives.from]++;
		self->went.ends[lives.to]++;
	}
	if (!make_room(&self->came, self->looks->rows.count) ||
	    !make_room(&self->went, self->looks->rows.count))
		return false;
	EACH_CHUNK (chunk, self->model) {
		struct lives lives = lives_of(self, &chunk);

		if (lives.from >= lives.to)
			continue;
		self->came.list[self->came.ends[lives.from]++] = (u32)chunk.number;
		self->went.list[self->went.ends[lives.to]++] = (u32)chunk.number;
	}
	return true;
}

static void add_chunks(struct walk *self, const struct by_look *chunks, u64 look, bool goes)
{
	u64 first = look ? chunks->ends[look - 1] : 0;

	EACH_CHUNK (chunk, self->model, .numbers = chunks->list + first,
		    .count = chunks->ends[look] - first)
		add_block(self, &chunk, goes);
}

/* ---- looks ---- */

static const struct stream_resident *row_at(const struct walk *self,
					    const struct model_memory *memory, u64 number)
{
	return &self->model->residents.data[memory->first + number];
}

static bool was_there(u16 since, u64 look) { return since && since <= look + 1; }

/* The sums of a row's pages; whether a block lies or lay there goes to `blocks`. */
static struct resident_row sum_pages(const struct walk *self, const struct stream_resident *row,
				     u64 look, bool *blocks)
{
	struct resident_row sums = {.resident_bytes = row->resident_bytes};
	u64 number = span_from(self, row->start), used = 0, end = row->start + row->bytes;
	const struct span *span = &self->spans.data[number];

	if (!is_walked(row) || number == self->spans.count || span->start > row->start)
		return sums;
	for (u64 at = row->start; at < end; at += RESIDENT_PAGE) {
		const struct page *page = page_at(self, span, at);

		sums.requested += page->requested;
		sums.slack += page->slack;
		used += page->requested || page->slack || page->holds ? RESIDENT_PAGE : 0;
		*blocks |= row->kind != MEMORY_RECORDER && was_there(page->since, look);
	}
	if (row->resident_bytes != row->bytes) {
		double part = (double)row->resident_bytes / (double)row->bytes;

		sums.requested = (u64)((double)sums.requested * part);
		sums.slack = (u64)((double)sums.slack * part);
		used = sums.requested ? row->resident_bytes : 0;
	}
	sums.used = used < row->resident_bytes ? used : row->resident_bytes;
	return sums;
}

/* Blocks in one row of a mapping make all its rows the allocator's. The recorder's rows may lie
 * between them. */
static u64 mapping_end(const struct walk *self, const struct model_memory *memory, u64 first)
{
	u64 end = first + 1;

	while (end < memory->count && (row_at(self, memory, end)->goes_on ||
				       row_at(self, memory, end)->kind == MEMORY_RECORDER))
		end++;
	return end;
}

/* Whether a block lies, or lay, in [start, end), of which nothing is resident at the look. */
static bool gap_has_blocks(struct walk *self, u64 start, u64 end, u64 look)
{
	for (u64 i = span_from(self, start); i < self->spans.count; i++) {
		const struct span *span = &self->spans.data[i];
		u64 at = start > span->start ? start : span->start;

		if (span->start > start && was_there(span->since, look))
			return true;
		for (; at < end && at < span->end && work_spend(&self->gap_work, 1);
		     at += RESIDENT_PAGE)
			if (was_there(page_at(self, span, at)->since, look))
				return true;
		if (span->end >= end || !work_spend(&self->gap_work, 1))
			break;
	}
	return false;
}

/* The same of what lies between rows of a mapping. */
static bool gaps_have_blocks(struct walk *self, const struct resident_look *look, u64 first,
			     u64 end)
{
	u64 number = (u64)(look - self->looks->rows.data);

	for (u64 i = first + 1; i < end; i++) {
		const struct stream_resident *before = row_at(self, look->memory, i - 1);
		const struct stream_resident *row = row_at(self, look->memory, i);

		if (before->kind != MEMORY_RECORDER && row->kind != MEMORY_RECORDER &&
		    gap_has_blocks(self, before->start + before->bytes, row->start, number))
			return true;
	}
	return false;
}

/* What of a block in a cache lies on the row's pages. */
static void add_cached(const struct walk *self, const struct stream_resident *row,
		       struct resident_row *sums, const struct cache_block *block)
{
	u64 from = block->address - CACHES_HEAD, to = from + block->bytes;
	u64 number = span_from(self, row->start), end = row->start + row->bytes;
	const struct span *span = &self->spans.data[number];

	if (!is_walked(row) || number == self->spans.count || span->start > row->start)
		return;
	from = from > row->start ? from : row->start;
	to = to < end ? to : end;
	if (from < to && row->resident_bytes != row->bytes) {
		*(sums->used ? &sums->caches_held : &sums->caches_free) +=
			(u64)((double)(to - from) * (double)row->resident_bytes /
			      (double)row->bytes);
		return;
	}
	while (from < to) {
		const struct page *page = page_at(self, span, from);
		u64 next = (from / RESIDENT_PAGE + 1) * RESIDENT_PAGE;
		u64 bytes = (next < to ? next : to) - from;
		bool held = page->requested || page->slack || page->holds;

		*(held ? &sums->caches_held : &sums->caches_free) += bytes;
		from += bytes;
	}
}

/* Rows and blocks are both by address. */
static void add_caches(const struct walk *self, const struct resident_look *look,
		       struct resident_row *rows)
{
	u32 number = (u32)(look - self->looks->rows.data);
	u64 first = 0;

	for (u64 i = caches_of_look(&self->caches, number);
	     i < self->caches.blocks.count && self->caches.blocks.data[i].look == number; i++) {
		const struct cache_block *block = &self->caches.blocks.data[i];
		u64 start = block->address - CACHES_HEAD;

		while (first < look->memory->count &&
		       row_at(self, look->memory, first)->start +
				       row_at(self, look->memory, first)->bytes <=
			       start)
			first++;
		for (u64 row = first; row < look->memory->count &&
				      row_at(self, look->memory, row)->start < start + block->bytes;
		     row++)
			add_cached(self, row_at(self, look->memory, row), &rows[row], block);
	}
}

static void add_mapping(struct walk *self, struct resident_look *look, struct resident_row *rows,
			u64 first, u64 end)
{
	u64 number = (u64)(look - self->looks->rows.data);
	bool blocks = false;

	for (u64 i = first; i < end; i++)
		rows[i] = sum_pages(self, row_at(self, look->memory, i), number, &blocks);
	blocks = blocks || gaps_have_blocks(self, look, first, end);
	for (u64 i = first; i < end; i++)
		rows[i].part = accounting_part_of(row_at(self, look->memory, i), blocks);
}

static bool add_up(struct walk *self, struct resident_look *look)
{
	struct resident_row *rows = malloc((look->memory->count + 1) * sizeof *rows);

	for (u64 i = 0, end; rows && i < look->memory->count; i = end) {
		end = mapping_end(self, look->memory, i);
		add_mapping(self, look, rows, i, end);
	}
	if (rows)
		add_caches(self, look, rows);
	for (u64 i = 0; rows && i < look->memory->count; i++)
		resident_add(&look->account, &rows[i]);
	for (u32 i = 0; i < PARTS; i++)
		look->account.sum_bytes += look->account.bytes[i];
	free(rows);
	return rows != NULL;
}

static bool walk(struct walk *self)
{
	caches_settle(&self->caches);
	for (u64 i = 0; i < self->looks->rows.count; i++) {
		add_chunks(self, &self->went, i, true);
		add_chunks(self, &self->came, i, false);
		if (!add_up(self, &self->looks->rows.data[i]))
			return false;
	}
	return true;
}

static bool list_caches(struct walk *self)
{
	for (u64 i = 0; i < self->looks->rows.count; i++)
		if (!caches_add(&self->caches, self->model, self->looks->rows.data[i].memory,
				(u32)i))
			return false;
	caches_sort(&self->caches);
	return true;
}

int resident_looks_make(struct resident_looks *self, const struct model *model, struct err *err)
{
	const struct model_memory *most = resident_most(model, 0, UINT64_MAX);
	struct walk walking = {.model = model, .looks = self, .gap_work = GAP_VISITS_MAX};
	bool good;

	if (!most)
		return 0;
	/* what is known of the allocator there holds for all */
	walking.rules = accounting_of(model, most);
	good = accounting_make(&walking.rules, err) == 0 && choose_looks(self, model) &&
	       list_pages(&walking) && list_caches(&walking) && sort_chunks(&walking) &&
	       walk(&walking);
	if (good)
		find_kinds(self, model);
	accounting_release(&walking.rules);
	caches_release(&walking.caches);
	vec_release(&walking.spans);
	free(walking.pages);
	free(walking.came.list);
	free(walking.went.list);
	return good ? 0 : err_memory_for(err, "the resident memory");
}

void resident_looks_release(struct resident_looks *self) { vec_release(&self->rows); }
