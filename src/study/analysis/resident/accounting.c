/* SPDX-License-Identifier: MIT
 * Lays the blocks that were live at a look over its resident pages; see accounting.h.
 * Host. Passes over the chunks once. */
#include "study/analysis/resident/accounting.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "host/base/search.h"
#include "study/analysis/places/allocator.h"
#include "study/analysis/resident/neighbours.h"

enum { GLIBC_HEADS = 16, GLIBC_MAPPED_LEAST = 128 << 10 };

/* 64 GiB, and 1 MiB for each block and row: so much of a machine's memory has as many of these. */
static const u64 PAGES_ANY = 1ull << 24, PAGES_EACH = 1 << 8, PAGES_MOST = 1ull << 27;
/* Blocks do not overlap, but each takes some pages that others take, too: those of its span. */
static const u64 WORK_EACH = 1 << 10, WORK_PAGE = 4;

u64 accounting_pages_max(const struct model *model)
{
	u64 pages = PAGES_ANY + PAGES_EACH * (model->chunks.count + model->residents.count);

	return pages < PAGES_MOST ? pages : PAGES_MOST;
}

u64 accounting_work(const struct model *model, u64 pages)
{
	return WORK_PAGE * (pages + model->residents.count) + 2 * model->cached.count +
	       WORK_EACH * (model->chunks.count + 1);
}

u64 accounting_steps(const struct accounting *self, u64 row, u64 bytes)
{
	return self->first_word[row] == ACCOUNTING_NO_WORDS ? 1 : 1 + bytes / RESIDENT_PAGE / 64;
}

u64 accounting_row(const struct accounting *self, u64 address)
{
	return bisect(i, self->memory->count, self->rows[i].start + self->rows[i].bytes <= address);
}

/* The part of a row's bytes that is resident. */
static u64 scaled(const struct stream_resident *row, u64 bytes)
{
	return row->resident_bytes == row->bytes
		       ? bytes
		       : (u64)((unsigned __int128)bytes * row->resident_bytes / row->bytes);
}

static void mark_used(struct accounting *self, u64 number, u64 from, u64 to)
{
	u64 start = self->rows[number].start;

	if (self->first_word[number] != ACCOUNTING_NO_WORDS)
		bytemap_set(self->used + self->first_word[number], (from - start) / RESIDENT_PAGE,
			    (to - 1 - start) / RESIDENT_PAGE + 1);
}

/* What of [start, end) is resident. It goes to `sums`, and its pages are used; NULL = neither. */
static u64 add_range(struct accounting *self, u64 start, u64 end, u64 *sums)
{
	u64 found = 0;

	for (u64 i = accounting_row(self, start);
	     i < self->memory->count && self->rows[i].start < end; i++) {
		const struct stream_resident *row = &self->rows[i];
		u64 from = start > row->start ? start : row->start;
		u64 to = end < row->start + row->bytes ? end : row->start + row->bytes;

		if (to < from)
			break;
		found += scaled(row, to - from);
		if (!work_spend(&self->work, sums ? accounting_steps(self, i, to - from) : 1))
			break;
		if (!sums || to == from)
			continue;
		sums[i] += scaled(row, to - from);
		mark_used(self, i, from, to);
	}
	return found;
}

u64 accounting_bytes(struct accounting *self, u64 start, u64 end)
{
	return end < start ? 0 : add_range(self, start, end, NULL);
}

/* Its pages stay, resident or not, as long as the block lives. */
static void hold_range(struct accounting *self, struct class_extent span)
{
	for (u64 i = accounting_row(self, span.start);
	     i < self->memory->count && self->rows[i].start < span.end; i++) {
		const struct stream_resident *row = &self->rows[i];
		u64 from = span.start > row->start ? span.start : row->start;
		u64 to = span.end < row->start + row->bytes ? span.end : row->start + row->bytes;

		if (to < from || !work_spend(&self->work, accounting_steps(self, i, to - from)))
			break;
		if (to > from)
			mark_used(self, i, from, to);
	}
}

static void add_block(struct accounting *self, u64 address, u64 size)
{
	struct class_extent block = size_classes_block(&self->classes, address, size);
	struct class_extent span = size_classes_span(&self->classes, address, size);

	self->absent_bytes += size - add_range(self, address, address + size, self->requested);
	add_range(self, block.start, address, self->slack);
	add_range(self, address + size, block.end, self->slack);
	if (span.start < block.start || span.end > block.end)
		hold_range(self, span);
}

/* glibc maps large blocks one by one and unmaps them when they are freed; the kernel joins them
 * with what else is mapped beside them. */
bool accounting_is_mapped_alone(const struct accounting *self, u64 address, u64 size)
{
	return self->glibc && size >= GLIBC_MAPPED_LEAST && address % RESIDENT_PAGE == GLIBC_HEADS;
}

/* A row, or what lies between it and the row before, of which nothing is resident. */
static bool is_of_row(const struct accounting *self, u64 number, u64 address)
{
	const struct stream_resident *row = &self->rows[number];

	return row->start <= address || (number && row->goes_on && row->kind != MEMORY_RECORDER &&
					 row[-1].kind != MEMORY_RECORDER);
}

/* A mapping in which a block lies, or lay, is the allocator's; its rows are marked later. */
static void note_mapping(struct accounting *self, u64 address, u64 size)
{
	u64 number = accounting_row(self, address);

	if (accounting_is_mapped_alone(self, address, size))
		return;
	if (number < self->memory->count && is_of_row(self, number, address))
		self->has_blocks[number] = 1;
}

static void add_blocks(struct accounting *self)
{
	EACH_CHUNK (chunk, self->model) {
		u64 address = chunk.page->address[chunk.at], size = chunk.page->size[chunk.at];

		if (chunk.page->alloc_ticks[chunk.at] <= self->memory->ticks)
			note_mapping(self, address, size);
		if (accounting_is_live(self, &chunk))
			add_block(self, address, size);
	}
}

static bool clear(struct accounting *self)
{
	u64 bytes = (self->memory->count + 1) * sizeof *self->slack;

	memset(self->requested, 0, bytes);
	memset(self->slack, 0, bytes);
	self->work = accounting_work(self->model, self->words * 64);
	self->absent_bytes = 0;
	free(self->used);
	self->used = calloc(self->words, sizeof *self->used);
	return self->used;
}

static bool is_live_at(const struct chunk *chunk, u64 ticks)
{
	return chunk->page->alloc_ticks[chunk->at] <= ticks &&
	       (!chunk->page->free_ticks[chunk->at] || chunk->page->free_ticks[chunk->at] > ticks);
}

/* Blocks at the peak are next to each other more often than those that a burst leaves. */
static bool see_neighbour(const struct accounting *self, const struct chunk *chunk,
			  struct neighbours *seen)
{
	u64 address = chunk->page->address[chunk->at], size = chunk->page->size[chunk->at];

	return (!accounting_is_live(self, chunk) || neighbours_add(seen, 0, address, size)) &&
	       (!is_live_at(chunk, self->model->totals.peak_ticks) ||
		neighbours_add(seen, 1, address, size));
}

/* The allocator's rules are tried first; where the addresses say otherwise all is done again. */
static bool lay_out(struct accounting *self)
{
	struct neighbours seen = {.windows = neighbours_windows(self->model)};
	bool good = true;

	EACH_CHUNK (chunk, self->model) {
		u64 address = chunk.page->address[chunk.at], size = chunk.page->size[chunk.at];

		good = good && see_neighbour(self, &chunk, &seen);
		if (chunk.page->alloc_ticks[chunk.at] > self->memory->ticks)
			continue;
		note_mapping(self, address, size);
		if (accounting_is_live(self, &chunk)) {
			add_block(self, address, size);
			caches_drop(&self->caches, address, (struct caches_looks){0, 1});
		}
	}
	if (good && neighbours_judge(&seen, &self->classes)) {
		self->glibc = false; /* whoever's it is may keep what is large, too */
		good = clear(self);
		if (good)
			add_blocks(self);
	}
	neighbours_release(&seen);
	return good;
}

/* ---- what is what ---- */

enum resident_part accounting_part_of(const struct stream_resident *row, bool has_blocks)
{
	switch (row->kind) {
	case MEMORY_BREAK: return PART_CACHED;
	case MEMORY_FILE: return PART_FILES;
	case MEMORY_MODULE: return PART_CODE;
	case MEMORY_STACK: return PART_STACKS;
	case MEMORY_RECORDER: return PART_RECORDER;
	default: break;
	}
	if (has_blocks)
		return PART_CACHED;
	return row->kind == MEMORY_GUARDED ? PART_STACKS : PART_MAPPINGS;
}

enum resident_part accounting_part(const struct accounting *self, u64 number)
{
	return accounting_part_of(&self->rows[number], self->has_blocks[number]);
}

/* Blocks in one row of a mapping make all its rows the allocator's. The recorder's rows may lie
 * between them. */
static void spread(struct accounting *self)
{
	u64 first = 0, last = 0;

	for (u64 i = 0; i < self->memory->count; i++) {
		if (self->rows[i].kind == MEMORY_RECORDER)
			continue;
		if (!self->rows[i].goes_on)
			first = i;
		self->has_blocks[first] |= self->has_blocks[i];
	}
	for (u64 i = 0; i < self->memory->count; i++) {
		if (self->rows[i].kind == MEMORY_RECORDER)
			continue;
		if (self->rows[i].goes_on)
			self->has_blocks[i] = self->has_blocks[last];
		last = i;
	}
}

/* What of a block in a cache lies on pages of the row. */
static void add_cached(struct accounting *self, u64 row, const struct cache_block *block)
{
	u64 start = self->rows[row].start, end = start + self->rows[row].bytes;
	u64 from = block->address - CACHES_HEAD, to = from + block->bytes;

	from = from > start ? from : start;
	to = to < end ? to : end;
	if (from < to && self->first_word[row] == ACCOUNTING_NO_WORDS) {
		(self->requested[row] ? self->caches_held : self->caches_free)[row] +=
			scaled(&self->rows[row], to - from);
		return;
	}
	while (from < to) {
		u64 page = (from - start) / RESIDENT_PAGE,
		    next = start + (page + 1) * RESIDENT_PAGE;
		u64 bytes = (next < to ? next : to) - from;
		bool held = bytemap_has(self->used + self->first_word[row], page);

		(held ? self->caches_held : self->caches_free)[row] += bytes;
		from += bytes;
	}
}

static void add_caches(struct accounting *self)
{
	caches_settle(&self->caches);
	for (u64 i = 0; i < self->caches.blocks.count; i++) {
		const struct cache_block *block = &self->caches.blocks.data[i];

		for (u64 row = accounting_row(self, block->address - CACHES_HEAD);
		     row < self->memory->count &&
		     self->rows[row].start < block->address - CACHES_HEAD + block->bytes;
		     row++)
			add_cached(self, row, block);
	}
}

static bool prepare(struct accounting *self)
{
	u64 count = self->memory->count, words = 0;
	u64 words_max = accounting_pages_max(self->model) / 64;

	self->first_word = arena_new_array(&self->arena, u64, count + 1);
	self->has_blocks = arena_new_array(&self->arena, u8, count + 1);
	self->requested = arena_new_array(&self->arena, u64, count + 1);
	self->slack = arena_new_array(&self->arena, u64, count + 1);
	self->caches_held = arena_new_array(&self->arena, u64, count + 1);
	self->caches_free = arena_new_array(&self->arena, u64, count + 1);
	if (!caches_add(&self->caches, self->model, self->memory, 0))
		return false;
	caches_sort(&self->caches);
	for (u64 i = 0; i < count && self->first_word; i++) {
		const struct stream_resident *row = &self->rows[i];

		self->first_word[i] = ACCOUNTING_NO_WORDS;
		if (row->resident_bytes != row->bytes ||
		    row->bytes / RESIDENT_PAGE / 64 + 1 > words_max - words)
			continue;
		self->first_word[i] = words;
		words += row->bytes / RESIDENT_PAGE / 64 + 1;
	}
	self->words = words + 1;
	self->work = accounting_work(self->model, words * 64);
	self->used = calloc(self->words, sizeof *self->used);
	return self->first_word && self->has_blocks && self->requested && self->slack &&
	       self->used && self->caches_held && self->caches_free;
}

struct accounting accounting_of(const struct model *model, const struct model_memory *memory)
{
	return (struct accounting){.model = model,
				   .memory = memory,
				   .work = accounting_work(model, 0),
				   .rows = memory->count ? model->residents.data + memory->first
							 : NULL};
}

int accounting_make(struct accounting *self, struct err *err)
{
	self->classes = size_classes_of(self->model);
	self->glibc = allocator_is_glibc(self->model);
	if (!prepare(self) || !lay_out(self))
		return err_memory_for(err, "the resident memory");
	spread(self);
	add_caches(self);
	self->work = accounting_work(self->model, self->words * 64); /* for accounting_bytes */
	return 0;
}

void accounting_release(struct accounting *self)
{
	size_classes_release(&self->classes);
	caches_release(&self->caches);
	arena_release(&self->arena);
	free(self->used);
}
