/* SPDX-License-Identifier: MIT
 * Takes the resident memory of a moment apart.
 * Host. Which pages were resident is in the trace, which blocks were live is found from the chunks:
 * parts are counted, not estimated, as far as docs/METHODS.md says. */
#include "study/analysis/resident/resident.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "host/base/search.h"
#include "host/base/path.h"
#include "study/model/each.h"

enum {
	PAGE = 4096,
	GLIBC_HEAD = 8,
	GLIBC_LEAST = 32,
	GLIBC_STEP = 16,
	GLIBC_MAPPED_LEAST = 128 << 10
};

/* A trace may claim any address space; and the recorder reserves much of it. */
static const u64 WORDS_MAX = 1ull << 24, NO_WORDS = UINT64_MAX;

struct accounting {
	const struct model *model;
	const struct model_memory *memory;
	const struct stream_resident *rows;
	u64 *first_word;        /* by row: of its pages in `used` */
	u64 *used;              /* by page, a bit: a live block lies on it; mostly untouched */
	u8 *has_blocks;         /* by row: one lies or lay in its mapping */
	u64 *requested, *slack; /* by row */
	bool glibc;
	struct arena arena;
};

/* The row that ends after the address; count if there is none. */
static u64 row_from(const struct accounting *self, u64 address)
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

	if (self->first_word[number] != NO_WORDS)
		bytemap_set(self->used + self->first_word[number], (from - start) / PAGE,
			    (to - 1 - start) / PAGE + 1);
}

/* What of [start, end) is resident. It goes to `sums`, and its pages are used; NULL = neither. */
static u64 add_range(struct accounting *self, u64 start, u64 end, u64 *sums)
{
	u64 found = 0;

	for (u64 i = row_from(self, start); i < self->memory->count && self->rows[i].start < end;
	     i++) {
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

/* glibc puts 8 bytes before a block and rounds up to 16; no chunk of its is below 32. */
static u64 glibc_bytes(u64 size)
{
	u64 bytes = (size + GLIBC_HEAD + GLIBC_STEP - 1) & ~(u64)(GLIBC_STEP - 1);

	return bytes < GLIBC_LEAST ? GLIBC_LEAST : bytes;
}

static void add_block(struct accounting *self, u64 address, u64 size, u64 *absent)
{
	*absent += size - add_range(self, address, address + size, self->requested);
	if (!self->glibc || size > UINT32_MAX)
		return;
	add_range(self, address - GLIBC_HEAD, address, self->slack);
	add_range(self, address + size, address - GLIBC_HEAD + glibc_bytes(size), self->slack);
}

/* glibc maps large blocks one by one and unmaps them when they are freed; the kernel joins them
 * with what else is mapped beside them. */
static bool is_mapped_alone(const struct accounting *self, u64 address, u64 size)
{
	return self->glibc && size >= GLIBC_MAPPED_LEAST && address % PAGE == 2 * GLIBC_HEAD;
}

/* A mapping in which a block lies, or lay, is the allocator's; its rows are marked later. */
static void note_mapping(struct accounting *self, u64 address, u64 size)
{
	u64 number = row_from(self, address);

	if (is_mapped_alone(self, address, size))
		return;
	if (number < self->memory->count && self->rows[number].start <= address)
		self->has_blocks[number] = 1;
}

static bool is_module(const char *path, const char *name)
{
	return strncmp(path_file(path), name, strlen(name)) == 0;
}

/* Whether an allocator that is linked into the program was recorded. */
static bool has_own_malloc(const struct model *model)
{
	for (u64 i = 0; i < model->notes.count; i++)
		if (strcmp(model->notes.data[i].key, "custom_allocators") == 0 &&
		    strstr(model->notes.data[i].value, "entry malloc recorded"))
			return true;
	return false;
}

/* Which allocator it is can be told where it is a library, or was recorded at its entries. */
static bool uses_glibc(const struct model *model)
{
	static const char *const others[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
					     "libgc.so"};
	const struct modmap *modules = &model->contexts.modules;

	if (model->image.access || has_own_malloc(model))
		return false;
	for (u32 i = 0; i < modules->module_count; i++)
		for (u32 k = 0; k < sizeof others / sizeof *others; k++)
			if (modules->modules[i].told &&
			    is_module(modules->modules[i].path, others[k]))
				return false;
	return true;
}

static bool is_live_at(const struct chunk_page *page, u64 at, u64 ticks)
{
	return page->alloc_ticks[at] <= ticks &&
	       (!page->free_ticks[at] || page->free_ticks[at] > ticks);
}

static u64 add_blocks(struct accounting *self)
{
	u64 ticks = self->memory->ticks, absent = 0;

	EACH_CHUNK (chunk, self->model) {
		const struct chunk_page *page = chunk.page;
		u32 at = chunk.at;

		if (page->alloc_ticks[at] > ticks)
			continue;
		note_mapping(self, page->address[at], page->size[at]);
		if (is_live_at(page, at, ticks) &&
		    page->address[at] + page->size[at] >= page->address[at])
			add_block(self, page->address[at], page->size[at], &absent);
	}
	return absent;
}

/* ---- what is what ---- */

static enum resident_part part_of(const struct accounting *self, u64 number)
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

static u64 used_bytes(const struct accounting *self, u64 number)
{
	const struct stream_resident *row = &self->rows[number];
	u64 pages;

	if (self->first_word[number] == NO_WORDS)
		return self->requested[number] ? row->resident_bytes : 0;
	pages = bytemap_count(self->used + self->first_word[number], row->bytes / PAGE);
	return pages * PAGE < row->resident_bytes ? pages * PAGE : row->resident_bytes;
}

/* Blocks of an allocator that lives in a module's data, or in the recorder's heap, are blocks all
 * the same. */
static void add_row(struct accounting *self, u64 number, struct resident_account *account)
{
	const struct stream_resident *row = &self->rows[number];
	enum resident_part part = part_of(self, number);
	u64 requested = self->requested[number], slack = self->slack[number];
	u64 resident = row->resident_bytes, used = used_bytes(self, number);

	if (requested > resident)
		requested = resident;
	account->bytes[PART_REQUESTED] += requested;
	if (part != PART_CACHED) {
		slack = part != PART_MAPPINGS          ? 0
			: slack < resident - requested ? slack
						       : resident - requested;
		account->bytes[PART_SLACK] += slack;
		account->bytes[part] += resident - requested - slack;
		return;
	}
	if (used < requested)
		used = requested;
	if (slack > used - requested)
		slack = used - requested;
	account->bytes[PART_SLACK] += slack;
	account->bytes[PART_FRAGMENTATION] += used - requested - slack;
	account->bytes[PART_CACHED] += resident - used;
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

		self->first_word[i] = NO_WORDS;
		if (row->resident_bytes != row->bytes ||
		    row->bytes / PAGE / 64 >= WORDS_MAX - words)
			continue;
		self->first_word[i] = words;
		words += row->bytes / PAGE / 64 + 1;
	}
	self->used = calloc(words + 1, sizeof *self->used);
	return self->first_word && self->has_blocks && self->requested && self->slack && self->used;
}

static struct accounting accounting_of(const struct model *model, const struct model_memory *memory)
{
	return (struct accounting){.model = model,
				   .memory = memory,
				   .rows = memory->count ? model->residents.data + memory->first
							 : NULL};
}

u64 resident_bytes(const struct model *model, const struct model_memory *memory, u64 address,
		   u64 size)
{
	struct accounting self = accounting_of(model, memory);

	return address + size < address ? 0 : add_range(&self, address, address + size, NULL);
}

int resident_account(const struct model *model, const struct model_memory *memory,
		     struct resident_account *account, struct err *err)
{
	struct accounting self = accounting_of(model, memory);
	bool ready;

	self.glibc = uses_glibc(model);
	ready = prepare(&self);

	*account = (struct resident_account){0};
	if (ready) {
		account->absent_bytes = add_blocks(&self);
		spread(&self);
		for (u64 i = 0; i < memory->count; i++)
			add_row(&self, i, account);
		for (u32 i = 0; i < PARTS; i++)
			account->sum_bytes += account->bytes[i];
	}
	arena_release(&self.arena);
	free(self.used);
	return ready ? 0 : err_memory_for(err, "the resident memory");
}

const struct model_memory *resident_most(const struct model *model, u64 from, u64 to)
{
	const struct model_memory *most = NULL;

	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];

		if (memory->ticks >= from && memory->ticks < to &&
		    (!most || memory->rss_bytes > most->rss_bytes))
			most = memory;
	}
	return most;
}

const struct model_memory *resident_last(const struct model *model)
{
	const struct model_memory *last =
		model->memory.count ? &model->memory.data[model->memory.count - 1] : NULL;

	return last && last->moment == MEMORY_END ? last : NULL;
}

u64 resident_peak_bytes(const struct model *model)
{
	u64 most = 0;

	for (u64 i = 0; i < model->usage.count; i++)
		if (model->usage.data[i].rss_bytes > most)
			most = model->usage.data[i].rss_bytes;
	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];
		u64 bytes = memory->high_bytes > memory->rss_bytes ? memory->high_bytes
								   : memory->rss_bytes;

		if (bytes > most)
			most = bytes;
	}
	return most;
}
