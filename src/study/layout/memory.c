/* SPDX-License-Identifier: MIT
 * Chunks by address.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/memory.h"

#include <stdio.h>
#include <string.h>

#include "host/base/keyed.h"
#include "host/base/units.h"
#include "study/layout/keys.h"

/* ---- a moment ---- */

static int by_address(const void *a, const void *b)
{
	const struct memory_chunk *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int memory_moment_make(struct memory_moment *self, const struct view_scope *scope, u64 at_ns,
		       struct err *err)
{
	u64 limit = tick_clock_ticks(&scope->trace->model->clock, at_ns + 1);
	struct view_chunk chunk;

	self->at_ns = at_ns;
	for (u64 at = 0; view_next(scope, &at, &chunk);) {
		struct memory_chunk row = {chunk.page->address[chunk.at],
					   chunk.page->size[chunk.at], chunk.number};

		if (chunk.at == 0 && view_page_is_dead(scope, chunk.number / CHUNK_PAGE, limit)) {
			at = (chunk.number / CHUNK_PAGE + 1) * CHUNK_PAGE;
			continue;
		}
		if (chunk.at == 0 && view_check(scope, err) < 0)
			return err->code;
		if (view_is_live(&chunk, limit) && row.address && !vec_push(&self->chunks, row))
			return err_memory_for(err, "the memory map");
	}
	if (self->chunks.count)
		qsort(self->chunks.data, self->chunks.count, sizeof *self->chunks.data, by_address);
	return 0;
}

void memory_moment_release(struct memory_moment *self) { vec_release(&self->chunks); }

const struct memory_chunk *memory_find(const struct memory_moment *moment, u64 address)
{
	u64 low = 0, high = moment->chunks.count;

	while (low < high) {
		u64 middle = (low + high) / 2;

		if (moment->chunks.data[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	/* A chunk of no bytes still has its address. */
	if (address - moment->chunks.data[low - 1].address < moment->chunks.data[low - 1].size ||
	    address == moment->chunks.data[low - 1].address)
		return &moment->chunks.data[low - 1];
	return NULL;
}

/* ---- regions ---- */

static u64 chunk_end_address(const struct memory_chunk *chunk)
{
	return chunk->address + chunk->size < chunk->address ? UINT64_MAX
							     : chunk->address + chunk->size;
}

int memory_regions_make(struct memory_regions *self, const struct memory_moment *moment,
			struct err *err)
{
	struct memory_region *region = NULL;

	for (u64 i = 0; i < moment->chunks.count; i++) {
		const struct memory_chunk *chunk = &moment->chunks.data[i];
		u64 gap = region && chunk->address > region->end ? chunk->address - region->end : 0;

		if (!region || gap > REGION_GAP) {
			if (!vec_push(&self->rows, (struct memory_region){.start = chunk->address,
									  .end = chunk->address}))
				return err_memory_for(err, "the regions");
			region = &self->rows.data[self->rows.count - 1];
			gap = 0;
		}
		if (gap) {
			struct memory_holes *holes = &self->holes[63 - __builtin_clzll(gap)];

			holes->count++;
			holes->bytes += gap;
		}
		region->free_bytes += gap;
		if (gap > region->largest_free)
			region->largest_free = gap;
		region->chunks++;
		region->live_bytes += chunk->size;
		if (chunk_end_address(chunk) > region->end)
			region->end = chunk_end_address(chunk);
	}
	return 0;
}

/* ---- picture ---- */

bool memory_color_parse(const char *word, enum memory_color *color)
{
	static const char *const words[MEMORY_COLORS] = {"alternate", "type",  "module",
							 "thread",    "age",   "sev",
							 "fn",        "query", "account"};

	return word_parse(words, word, color);
}

struct painting {
	struct memory_view *view;
	const struct view_scope *scope;
	const struct memory_moment *moment;
	const struct memory_query *query;
	const struct view_keys *keys;
	u8 *entry_of; /* by key: its number in the legend, + 1; 0 = none yet */
};

static enum view_by color_by(enum memory_color color)
{
	switch (color) {
	case COLOR_TYPE: return BY_TYPE;
	case COLOR_MODULE: return BY_MODULE;
	case COLOR_THREAD: return BY_THREAD;
	case COLOR_SEV: return BY_SEV;
	case COLOR_FN: return BY_FN;
	case COLOR_QUERY: return BY_COLOR;
	case COLOR_ALTERNATE_CHUNKS:
	case COLOR_AGE:
	case COLOR_ACCOUNT:
	case MEMORY_COLORS: break;
	}
	return BY_NONE;
}

/* Keys get places in the legend as they are met; the last place is for all that come later. */
static u8 legend_of_key(struct painting *self, u32 key)
{
	struct memory_view *view = self->view;

	if (self->entry_of[key])
		return self->entry_of[key];
	if (view->legend.count == MEMORY_PALETTE - 1)
		vec_push(&view->legend, "(others)");
	if (view->legend.count < MEMORY_PALETTE - 1)
		vec_push(&view->legend, arena_copy(&view->arena, self->keys->keys.data[key].label));
	return self->entry_of[key] = (u8)view->legend.count;
}

enum { AGES = 9 };

/* The run so far in steps of the same length: chunks of one region are often of one age by powers
 * of ten. */
static u64 age_limit(const struct painting *self, u32 step)
{
	return self->moment->at_ns / AGES * step + 1;
}

static u8 legend_of_age(struct painting *self, u64 number)
{
	const struct model *model = self->scope->trace->model;
	u64 born =
		tick_clock_ns(&model->clock,
			      chunk_at(&model->chunks, number)->alloc_ticks[number % CHUNK_PAGE]);
	u64 age = self->moment->at_ns > born ? self->moment->at_ns - born : 0;
	u8 step = 1;

	while (step < AGES && age >= age_limit(self, step))
		step++;
	return step;
}

static int start_legend(struct painting *self, struct err *err)
{
	struct memory_view *view = self->view;

	if (self->query->color == COLOR_ALTERNATE_CHUNKS)
		return vec_push(&view->legend, "even chunks") &&
				       vec_push(&view->legend, "odd chunks")
			       ? 0
			       : err_memory_for(err, "the memory map");
	for (u32 i = 1; self->query->color == COLOR_AGE && i <= AGES; i++) {
		char text[64];

		snprintf(text, sizeof text, i < AGES ? "younger than %s" : "older",
			 units_ns(age_limit(self, i)).text);
		if (!vec_push(&view->legend, arena_copy(&view->arena, text)))
			return err_memory_for(err, "the memory map");
	}
	return 0;
}

static u8 color_of(struct painting *self, u64 index)
{
	u64 number = self->moment->chunks.data[index].number;
	struct view_chunk chunk = view_chunk_at(self->scope, number);

	if (self->query->color == COLOR_ALTERNATE_CHUNKS)
		return (u8)(1 + index % 2);
	if (self->query->color == COLOR_AGE)
		return legend_of_age(self, number);
	return legend_of_key(self, view_key_of(self->keys, self->scope, &chunk));
}

static int paint_chunk(struct painting *self, u64 index, u64 pixels, struct err *err)
{
	const struct memory_chunk *chunk = &self->moment->chunks.data[index];
	const struct memory_query *query = self->query;
	u64 end = chunk_end_address(chunk);
	u64 first, last;

	if (end <= query->base)
		return 0;
	first = chunk->address > query->base
			? (chunk->address - query->base) / query->bytes_per_pixel
			: 0;
	last = (end - 1 - query->base) / query->bytes_per_pixel;
	if (first >= pixels)
		return 0;
	if (last >= pixels)
		last = pixels - 1;
	memset(self->view->pixels + first, color_of(self, index), last - first + 1);
	if (self->view->runs.count == MEMORY_RUNS_MAX) {
		self->view->truncated = true;
		return 0;
	}
	return vec_push(&self->view->runs,
			(struct memory_run){(u32)first, (u32)(last - first + 1), chunk->number})
		       ? 0
		       : err_memory_for(err, "the memory map");
}

static int paint(struct painting *self, struct err *err)
{
	u64 pixels = (u64)self->query->width * self->query->height;
	int status = start_legend(self, err);

	self->view->pixels = calloc(pixels + 1, 1);
	self->entry_of = calloc(self->keys->keys.count + 1, 1);
	if (!self->view->pixels || !self->entry_of)
		status = err_memory_for(err, "the memory map");
	for (u64 i = 0; i < self->moment->chunks.count && status == 0; i++)
		if (self->moment->chunks.data[i].size)
			status = paint_chunk(self, i, pixels, err);
	free(self->entry_of);
	return status;
}

int memory_view_make(struct memory_view *self, const struct view_scope *scope,
		     const struct memory_moment *moment, const struct memory_query *query,
		     struct err *err)
{
	struct painting painting = {.view = self, .scope = scope, .moment = moment, .query = query};

	painting.keys = view_scope_keys(scope, color_by(query->color), err);
	return painting.keys ? paint(&painting, err) : err->code;
}

void memory_view_release(struct memory_view *self)
{
	free(self->pixels);
	vec_release(&self->legend);
	vec_release(&self->runs);
	vec_release(&self->pages);
	arena_release(&self->arena);
}
