/* SPDX-License-Identifier: MIT
 * Finds the roots; see roots.h. Runs on a scan's thread.
 *
 * Memory of the allocator is no root, because freed blocks still hold what was in them. It is
 * told like this: [heap]; what glibc uses (glibc.h); of other anonymous mappings those with
 * live blocks, as a whole, unless each block there is one that glibc mapped by itself. Of
 * mappings of files, and of the zeroed data behind them, only the blocks: a program that hands
 * out a static array as memory has other data beside it. */
#include "live/scan/roots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "live/scan/arch/arch.h"
#include "live/scan/glibc.h"

static bool without_add(struct scan_roots *self, u64 start, u64 end)
{
	struct scan_span span = {start, end};

	return start >= end || vec_push(&self->without, span);
}

static bool is_anonymous(const struct mapping *mapping)
{
	return mapping->kind == MAPPING_ANONYMOUS && !mapping->shared;
}

/* Zeroed data of a module is mapped anonymously behind its file. */
static bool is_module_data(const struct scan_memory *memory, u64 number)
{
	const struct mapping *mapping = &memory->mappings.data[number];

	return number && is_anonymous(mapping) && mapping[-1].end == mapping->start &&
	       mapping[-1].kind == MAPPING_FILE;
}

/* ---- the allocator --------------------------------------------------------------------------- */

static bool arenas_exclude(struct scan_roots *self, const struct scan_surroundings *around,
			   const struct mapping *mapping)
{
	u64 start = (mapping->start + GLIBC_ARENA_BYTES - 1) & ~(GLIBC_ARENA_BYTES - 1);

	for (; start < mapping->end; start += GLIBC_ARENA_BYTES) {
		u64 touched = scan_memory_touched(around->memory, start, mapping->end), bytes;

		/* Where memory is only reserved it stays so. */
		start = touched & ~(GLIBC_ARENA_BYTES - 1);
		if (touched >= start + SCAN_PAGE)
			continue;
		bytes = glibc_arena(around->memory, start, mapping->end);

		if (bytes && !without_add(self, start, start + bytes))
			return false;
	}
	return true;
}

/* The allocator's lists of free memory in a library's data: they point just before free memory,
 * which is into the block before it. */
static bool lists_exclude(struct scan_roots *self, const struct scan_surroundings *around,
			  const struct mapping *mapping)
{
	struct scan_span span;

	return mapping->shared || mapping->kind == MAPPING_STACK ||
	       !glibc_main_state(around->memory, mapping, &span) ||
	       without_add(self, span.start, span.end);
}

/* The recorder reserves terabytes, of which little is used: to look for arenas there takes longer
 * than all the rest of a small program. The kernel joins neighbours. */
static bool is_reserved_by_us(const struct scan_surroundings *around, const struct mapping *mapping)
{
	const u64 large = 1ull << 30;
	u64 at = mapping->start, before;

	if (mapping->end - mapping->start < large)
		return false;
	do {
		before = at;
		for (u64 i = 0; i < around->own_count; i++)
			if (at - around->own[i].start < around->own[i].bytes)
				at = around->own[i].start + around->own[i].bytes;
	} while (at > before && at < mapping->end);
	return at >= mapping->end;
}

static bool is_excluded(const struct scan_roots *self, u64 first, u64 end, u64 address)
{
	for (u64 i = first; i < end; i++) {
		if (address - self->without.data[i].start <
		    self->without.data[i].end - self->without.data[i].start)
			return true;
	}
	return false;
}

/* Live blocks in [first, first + count) lie in the mapping. Where they share it with other data,
 * only they are no roots. */
static bool blocks_exclude(struct scan_roots *self, const struct scan_surroundings *around,
			   u64 number, u64 first, u64 count)
{
	const struct mapping *mapping = &around->memory->mappings.data[number];
	bool shared = !is_anonymous(mapping) || is_module_data(around->memory, number);
	u64 arenas = self->without.count, arenas_end;

	if (shared ? !lists_exclude(self, around, mapping) : !arenas_exclude(self, around, mapping))
		return false;
	arenas_end = self->without.count;
	for (u64 i = first; i < first + count; i++) {
		const struct scan_block *block = &around->index->blocks.data[i];
		struct scan_span span = {block->address, block->address + block->size};

		if (is_excluded(self, arenas, arenas_end, block->address))
			continue;
		if (!shared && !glibc_mapped_block(around->memory, block, &span))
			return without_add(self, mapping->start, mapping->end);
		if (!without_add(self, span.start, span.end))
			return false;
	}
	return true;
}

static bool allocator_exclude(struct scan_roots *self, const struct scan_surroundings *around)
{
	const struct scan_memory *memory = around->memory;
	const struct scan_index *index = around->index;
	u64 block = 0;

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];
		u64 first = block;

		while (block < index->blocks.count &&
		       index->blocks.data[block].address < mapping->end)
			block++;
		while (first < block && index->blocks.data[first].address < mapping->start)
			first++;
		if (!mapping->writable || mapping->kind == MAPPING_SESSION ||
		    is_reserved_by_us(around, mapping))
			continue;
		if (mapping->kind == MAPPING_HEAP
			    ? !without_add(self, mapping->start, mapping->end)
			    : !blocks_exclude(self, around, i, first, block - first))
			return false;
	}
	return true;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* A thread's stack grows down to a page that may not be touched; other memory has none there. */
static bool has_guard(const struct scan_memory *memory, u64 number)
{
	return memory->mappings.data[number].kind == MAPPING_STACK ||
	       scan_memory_guarded(memory, number);
}

static bool thread_is_alive(const struct scan_surroundings *around, u64 descriptor)
{
	for (u64 i = 0; i < around->thread_count; i++) {
		if (around->threads[i].thread_pointer == descriptor)
			return true;
	}
	return false;
}

/* The descriptors of threads that have ended, whose stacks the C library keeps for the next
 * ones. */
struct dead_search {
	const struct scan_surroundings *around;
	u64 highest; /* 0 = none */
};

static void descriptor_search(void *data, u64 address, const u64 *words, u64 count)
{
	struct dead_search *self = data;
	const u64 self_word = SCAN_DESCRIPTOR_SELF / 8;

	for (u64 i = 0; i + self_word < count; i++) {
		if (words[i] == address + i * 8 && words[i + self_word] == words[i] &&
		    words[i] % 64 == 0 && !thread_is_alive(self->around, words[i]))
			self->highest = words[i];
	}
}

/* From where the stacks of the mapping's threads are in use: the lowest of them counts. */
static u64 lowest_used(const struct scan_surroundings *around, const struct mapping *mapping)
{
	u64 lowest = UINT64_MAX;

	for (u64 i = 0; i < around->thread_count; i++) {
		u64 pointer = around->threads[i].stack_pointer;

		if (pointer >= mapping->start && pointer < mapping->end &&
		    around->threads[i].stack_used < lowest)
			lowest = around->threads[i].stack_used;
	}
	return lowest;
}

/* Where the first thread's stack began, above which are the program's arguments; 0 = unknown, or
 * the thread lives: it may run on another stack. */
static u64 dead_first_stack(const struct scan_surroundings *around)
{
	const struct scan_memory *memory = around->memory;
	enum { START_STACK = 28, STATE = 3 }; /* fields, see proc(5) */
	struct strbuf text = {0};
	const char *at;
	char path[80];
	u64 start = 0;

	for (u64 i = 0; i < around->thread_count; i++)
		if (around->threads[i].tid == memory->pid)
			return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", memory->pid, memory->tid);
	if (io_read_file(path, 8192, &text, NULL) == 0) {
		at = strrchr(strbuf_text(&text), ')');
		for (u32 field = STATE; at && field <= START_STACK; field++)
			at = strchr(at + 1, ' ');
		start = at ? strtoull(at, NULL, 10) : 0;
	}
	strbuf_release(&text);
	return start;
}

static bool stack_exclude(struct scan_roots *self, const struct scan_surroundings *around,
			  const struct mapping *mapping)
{
	u64 used = lowest_used(around, mapping);
	struct dead_search dead = {.around = around};

	if (used != UINT64_MAX)
		return without_add(self, mapping->start, used);
	if (mapping->kind == MAPPING_STACK)
		return without_add(self, mapping->start, dead_first_stack(around));
	if (!SCAN_TELLS_DESCRIPTORS)
		return true;
	scan_memory_each_word(around->memory, mapping->start, mapping->end, descriptor_search,
			      &dead);
	/* The descriptor itself stays a root: the thread's table of thread-local data hangs on
	 * it. */
	return without_add(self, mapping->start, dead.highest);
}

static bool stacks_exclude(struct scan_roots *self, const struct scan_surroundings *around)
{
	const struct scan_memory *memory = around->memory;

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];

		if (mapping->writable && mapping->readable && has_guard(memory, i) &&
		    (is_anonymous(mapping) || mapping->kind == MAPPING_STACK) &&
		    !is_excluded(self, 0, self->without.count, mapping->start) &&
		    !stack_exclude(self, around, mapping))
			return false;
	}
	return true;
}

/* ---- what is left ---------------------------------------------------------------------------- */

static bool is_root(const struct mapping *mapping)
{
	return mapping->readable && mapping->writable && mapping->kind != MAPPING_DEVICE &&
	       mapping->kind != MAPPING_KERNEL && mapping->kind != MAPPING_SESSION;
}

static bool span_add(struct scan_roots *self, u64 start, u64 end)
{
	struct scan_span span = {start, end};

	return start >= end || vec_push(&self->spans, span);
}

/* `without` is sorted; *next is the first that may concern this mapping or later ones. */
static bool mapping_add(struct scan_roots *self, const struct mapping *mapping, u64 *next)
{
	u64 at = mapping->start;

	while (*next < self->without.count && self->without.data[*next].end <= at)
		++*next;
	for (u64 i = *next; i < self->without.count && self->without.data[i].start < mapping->end;
	     i++) {
		const struct scan_span *span = &self->without.data[i];

		if (!span_add(self, at, span->start))
			return false;
		if (span->end > at)
			at = span->end;
	}
	return span_add(self, at, mapping->end);
}

int scan_roots_find(struct scan_roots *self, const struct scan_surroundings *around,
		    struct err *err)
{
	const struct scan_memory *memory = around->memory;
	bool good = allocator_exclude(self, around) && stacks_exclude(self, around);
	u64 next = 0;

	for (u64 i = 0; i < around->own_count && good; i++)
		good = without_add(self, around->own[i].start,
				   around->own[i].start + around->own[i].bytes);
	good = good && scan_sort(self->without.data, self->without.count, sizeof(struct scan_span));
	for (u64 i = 0; i < memory->mappings.count && good; i++) {
		if (is_root(&memory->mappings.data[i]))
			good = mapping_add(self, &memory->mappings.data[i], &next);
	}
	return good ? 0 : err_memory(err);
}

void scan_roots_release(struct scan_roots *self)
{
	vec_release(&self->without);
	vec_release(&self->spans);
}
