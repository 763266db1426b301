/* SPDX-License-Identifier: MIT
 * Lays the blocks that were live at a look over its resident pages; see accounting.h.
 * Host. Passes over the chunks once. */
#include "study/analysis/resident/accounting.h"

#include <stdlib.h>

#include "host/base/bytemap.h"
#include "host/base/search.h"
#include "study/analysis/places/allocator.h"

enum { GLIBC_HEAD = 8, GLIBC_LEAST = 32, GLIBC_STEP = 16, GLIBC_MAPPED_LEAST = 128 << 10 };

/* A trace may claim any address space; and the recorder reserves much of it. */
static const u64 WORDS_MAX = 1ull << 24;

u64 accounting_row(const struct accounting *self, u64 address)
{
	return bisect(i, self->memory->count, self->rows[i].start + self->rows[i].bytes <= address);
}

/* The part of a row's bytes that is resident. */
static u64 scaled(const struct stream_resident *row, u64 bytes)
{
	return row->resident_bytes == row->bytes
		       ? bytes
		       : (u64)((double)bytes * (double)row->resident_bytes / (double)row->bytes);
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

		if (to <= from)
			continue;
		found += scaled(row, to - from);
		if (!sums)
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

/* glibc puts 8 bytes before a block and rounds up to 16; no chunk of its is below 32. */
static u64 glibc_bytes(u64 size)
{
	u64 bytes = (size + GLIBC_HEAD + GLIBC_STEP - 1) & ~(u64)(GLIBC_STEP - 1);

	return bytes < GLIBC_LEAST ? GLIBC_LEAST : bytes;
}

struct accounting_extent accounting_extent(const struct accounting *self, u64 address, u64 size)
{
	if (!self->glibc || size > UINT32_MAX)
		return (struct accounting_extent){address, address + size};
	return (struct accounting_extent){address - GLIBC_HEAD,
					  address - GLIBC_HEAD + glibc_bytes(size)};
}

static void add_block(struct accounting *self, u64 address, u64 size)
{
	struct accounting_extent extent = accounting_extent(self, address, size);

	self->absent_bytes += size - add_range(self, address, address + size, self->requested);
	add_range(self, extent.start, address, self->slack);
	add_range(self, address + size, extent.end, self->slack);
}

/* glibc maps large blocks one by one and unmaps them when they are freed; the kernel joins them
 * with what else is mapped beside them. */
static bool is_mapped_alone(const struct accounting *self, u64 address, u64 size)
{
	return self->glibc && size >= GLIBC_MAPPED_LEAST &&
	       address % RESIDENT_PAGE == 2 * GLIBC_HEAD;
}

/* A mapping in which a block lies, or lay, is the allocator's; its rows are marked later. */
static void note_mapping(struct accounting *self, u64 address, u64 size)
{
	u64 number = accounting_row(self, address);

	if (is_mapped_alone(self, address, size))
		return;
	if (number < self->memory->count && self->rows[number].start <= address)
		self->has_blocks[number] = 1;
}

static void add_blocks(struct accounting *self)
{
	EACH_CHUNK (chunk, self->model) {
		u64 address = chunk.page->address[chunk.at], size = chunk.page->size[chunk.at];

		if (chunk.page->alloc_ticks[chunk.at] > self->memory->ticks)
			continue;
		note_mapping(self, address, size);
		if (accounting_is_live(self, &chunk))
			add_block(self, address, size);
	}
}

/* ---- what is what ---- */

enum resident_part accounting_part(const struct accounting *self, u64 number)
{
	const struct stream_resident *row = &self->rows[number];

	switch (row->kind) {
	case MEMORY_BREAK: return PART_CACHED;
	case MEMORY_FILE: return PART_FILES;
	case MEMORY_MODULE: return PART_CODE;
	case MEMORY_STACK: return PART_STACKS;
	case MEMORY_RECORDER: return PART_RECORDER;
	default: break;
	}
	if (self->has_blocks[number])
		return PART_CACHED;
	return row->kind == MEMORY_GUARDED ? PART_STACKS : PART_MAPPINGS;
}

/* Blocks in one row of a mapping make all its rows the allocator's. */
static void spread(struct accounting *self)
{
	u64 first = 0;

	for (u64 i = 0; i < self->memory->count; i++) {
		if (!self->rows[i].goes_on)
			first = i;
		self->has_blocks[first] |= self->has_blocks[i];
	}
	for (u64 i = 1; i < self->memory->count; i++)
		if (self->rows[i].goes_on)
			self->has_blocks[i] = self->has_blocks[i - 1];
}

static bool prepare(struct accounting *self)
{
	u64 count = self->memory->count, words = 0;

	self->first_word = arena_new_array(&self->arena, u64, count + 1);
	self->has_blocks = arena_new_array(&self->arena, u8, count + 1);
	self->requested = arena_new_array(&self->arena, u64, count + 1);
	self->slack = arena_new_array(&self->arena, u64, count + 1);
	for (u64 i = 0; i < count && self->first_word; i++) {
		const struct stream_resident *row = &self->rows[i];

		self->first_word[i] = ACCOUNTING_NO_WORDS;
		if (row->resident_bytes != row->bytes ||
		    row->bytes / RESIDENT_PAGE / 64 >= WORDS_MAX - words)
			continue;
		self->first_word[i] = words;
		words += row->bytes / RESIDENT_PAGE / 64 + 1;
	}
	self->used = calloc(words + 1, sizeof *self->used);
	return self->first_word && self->has_blocks && self->requested && self->slack && self->used;
}

struct accounting accounting_of(const struct model *model, const struct model_memory *memory)
{
	return (struct accounting){.model = model,
				   .memory = memory,
				   .rows = memory->count ? model->residents.data + memory->first
							 : NULL};
}

int accounting_make(struct accounting *self, struct err *err)
{
	self->glibc = allocator_is_glibc(self->model);
	if (!prepare(self))
		return err_memory_for(err, "the resident memory");
	add_blocks(self);
	spread(self);
	return 0;
}

void accounting_release(struct accounting *self)
{
	arena_release(&self->arena);
	free(self->used);
}
