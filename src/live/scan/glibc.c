/* SPDX-License-Identifier: MIT
 * Marks of glibc's allocator in a program's memory; see glibc.h. Runs on a scan's thread. */
#define _GNU_SOURCE
#include "live/scan/glibc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "live/scan/arch/arch.h"

enum {
	ARENA_HEAD_MAX = 256, /* bytes from the start of an arena to its state */
	HEAD = 16,            /* bytes before a block: size of what is before it, own size */
	HEAD_MAPPED = 2,      /* bit of the own size */
	HEAD_BITS = 7,
	HEAD_HUGE = 1, /* bit of the size before it, of a mapped block: from 2.43 on */
	BINS = 127,    /* lists of free memory: two words each, a ring */
	EMPTY_BINS_MIN = 16,
	STATE_TOP = 16,   /* bytes before the bins: the unused rest of the heap, the last split */
	STATE_AFTER = 64, /* behind them, and in these: */
	STATE_NEXT = 16,  /* where the next arena's state is */
	ARENAS_FOLLOWED = 1 << 14,
	ENVIRONMENT_MAX = 1 << 22,
};

/* Bytes of the state before its bins. */
static const u64 states_before[] = {
	0x18, /* 2.43, without fast bins */
	0x70, /* 2.27 to 2.42 */
	0x68, /* 2.26 */
};

struct arena_head { /* of glibc: struct heap_info */
	u64 state, previous, bytes, writable_bytes;
};

u64 glibc_arena(struct scan_memory *memory, u64 start, u64 end)
{
	struct arena_head head;

	if (end - start < SCAN_PAGE || !scan_memory_read(memory, start, &head, sizeof(head)))
		return 0;
	if (!head.bytes || head.bytes % SCAN_PAGE || head.bytes > GLIBC_ARENA_BYTES)
		return 0;
	if (head.previous
		    ? head.previous % GLIBC_ARENA_BYTES || !head.state
		    : head.state - start < sizeof(head) || head.state - start > ARENA_HEAD_MAX)
		return 0;
	if (head.writable_bytes >= head.bytes && head.writable_bytes <= GLIBC_ARENA_BYTES)
		head.bytes = head.writable_bytes;
	return head.bytes < end - start ? head.bytes : end - start;
}

bool glibc_mapped_block(struct scan_memory *memory, const struct scan_block *block,
			struct scan_span *span)
{
	u64 head[2];

	if (block->address % 16 || block->size < SCAN_PAGE - HEAD - HEAD_BITS ||
	    !scan_memory_read(memory, block->address - HEAD, head, sizeof(head)))
		return false;
	head[0] &= ~(u64)HEAD_HUGE;
	if ((head[1] & HEAD_BITS) != HEAD_MAPPED || head[0] > block->address)
		return false;
	span->start = block->address - HEAD - head[0];
	span->end = block->address - HEAD + (head[1] & ~(u64)HEAD_BITS);
	if (span->end % SCAN_PAGE) /* from 2.43 on the size is without these bytes */
		span->end += HEAD;
	return span->start % SCAN_PAGE == 0 && span->end % SCAN_PAGE == 0 &&
	       span->end >= block->address + block->size;
}

/* ---- main arena ------------------------------------------------------------------------------ */

/* A ring that is empty points to itself, as if its two words were those of a block with a head. */
static inline bool is_empty_bin(u64 address, const u64 *words)
{
	return words[0] == address - HEAD && words[1] == words[0];
}

struct bin_search {
	u64 first, last; /* addresses of the first and the last empty bin in reach of each other */
	u32 count;
};

static void bins_search(void *data, u64 address, const u64 *words, u64 count)
{
	struct bin_search *self = data;

	for (u64 i = 0; i + 1 < count; i++) {
		u64 at = address + i * 8;

		if (words[i] != at - HEAD || !is_empty_bin(at, words + i))
			continue;
		if (self->count >= EMPTY_BINS_MIN && at - self->first >= BINS * 16)
			return;
		if (!self->count || at - self->first >= BINS * 16) {
			self->first = at;
			self->count = 0;
		}
		self->last = at;
		self->count++;
	}
}

static bool is_heap_pointer(const struct scan_memory *memory, u64 value)
{
	const struct mapping *mapping = value % 16 ? NULL : scan_memory_mapping(memory, value);

	return mapping && mapping->writable &&
	       (mapping->kind == MAPPING_HEAP || mapping->kind == MAPPING_ANONYMOUS);
}

/* Whether the bins begin at `at`: each is empty or leads to the heap, and so do the words
 * before. */
static bool bins_begin_at(struct scan_memory *memory, u64 at)
{
	u64 words[2 + BINS * 2];

	if (!scan_memory_read(memory, at - 16, words, sizeof(words)))
		return false;
	if (words[0] != at - HEAD && !is_heap_pointer(memory, words[0]))
		return false;
	if (words[1] && !is_heap_pointer(memory, words[1]))
		return false;
	for (u32 i = 0; i < BINS; i++) {
		const u64 *bin = words + 2 + i * 2;

		if (!is_empty_bin(at + i * 16, bin) &&
		    !(is_heap_pointer(memory, bin[0]) && is_heap_pointer(memory, bin[1])))
			return false;
	}
	return true;
}

/* Whether a state that begins there leads from arena to arena back to itself. */
static bool ring_closes(struct scan_memory *memory, u64 start, u64 before)
{
	u64 next = start;

	for (u32 i = 0; i < ARENAS_FOLLOWED; i++) {
		if (!scan_memory_read(memory, next + before + BINS * 16 + STATE_NEXT, &next,
				      sizeof(next)))
			return false;
		if (next == start || next % sizeof(next))
			return next == start;
	}
	return false;
}

/* Of a state that no known version has, only what all have is known. */
static u64 state_start(struct scan_memory *memory, u64 bins)
{
	for (u32 i = 0; i < sizeof(states_before) / sizeof(*states_before); i++)
		if (ring_closes(memory, bins - states_before[i], states_before[i]))
			return bins - states_before[i];
	return bins - STATE_TOP;
}

bool glibc_main_state(struct scan_memory *memory, const struct mapping *mapping,
		      struct scan_span *span)
{
	struct bin_search found = {0};
	u64 at;

	scan_memory_each_word(memory, mapping->start, mapping->end, bins_search, &found);
	if (found.count < EMPTY_BINS_MIN)
		return false;
	for (at = found.last + 16 - BINS * 16; at <= found.first; at += 16) {
		if (!bins_begin_at(memory, at))
			continue;
		span->start = state_start(memory, at);
		span->end = at + BINS * 16 + STATE_AFTER;
		return true;
	}
	return false;
}

/* ---- huge pages ------------------------------------------------------------------------------ */

/* Its first mapping has the names of the versions that its functions are of. */
static bool is_since_2_43(struct scan_memory *memory)
{
	static const char name[] = "\0GLIBC_2.43";

	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];
		u64 bytes = mapping->end - mapping->start;

		if (mapping->kind != MAPPING_FILE || !strstr(mapping->path, "/libc.so.6"))
			continue;
		bytes = bytes < SCAN_BUFFER ? bytes : SCAN_BUFFER;
		scan_memory_pages(memory, mapping->start, bytes / SCAN_PAGE);
		return memmem(memory->buffer, bytes, name, sizeof(name)) != NULL;
	}
	return false;
}

/* What the tunable was set to when the program was started, -1 = it was not. Of several the last
 * one counts. */
static i64 hugetlb_tunable(u32 pid)
{
	static const char name[] = "GLIBC_TUNABLES=", tunable[] = "glibc.malloc.hugetlb=";
	struct strbuf text = {0};
	char path[64];
	i64 value = -1;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	if (io_read_file(path, ENVIRONMENT_MAX, &text, NULL) < 0)
		text.count = 0;
	for (u64 at = 0; at < text.count; at += strlen(text.text + at) + 1) {
		const char *next = text.text + at;

		if (strncmp(next, name, sizeof(name) - 1) != 0)
			continue;
		while ((next = strstr(next, tunable)))
			value = (i64)strtoul(next += sizeof(tunable) - 1, NULL, 0);
	}
	strbuf_release(&text);
	return value;
}

static bool asks_for_huge(struct scan_memory *memory)
{
	i64 value = hugetlb_tunable(memory->pid);

	return value < 0 ? SCAN_GLIBC_HUGE && is_since_2_43(memory) : value == 1;
}

/* Whether an anonymous mapping begins with a block that is mapped alone, or has an arena. */
static bool is_of_allocator(struct scan_memory *memory, const struct mapping *mapping)
{
	u64 head[2], arena = (mapping->start + GLIBC_ARENA_BYTES - 1) & ~(GLIBC_ARENA_BYTES - 1);
	struct scan_block block = {.address = mapping->start + HEAD};
	struct scan_span span;

	if (mapping->kind == MAPPING_HEAP)
		return true;
	if (mapping->kind != MAPPING_ANONYMOUS || mapping->shared || !mapping->writable)
		return false;
	if (arena < mapping->end && glibc_arena(memory, arena, mapping->end))
		return true;
	if (!scan_memory_read(memory, mapping->start, head, sizeof(head)) || head[1] < SCAN_PAGE)
		return false;
	block.size = (head[1] & ~(u64)HEAD_BITS) - HEAD;
	return glibc_mapped_block(memory, &block, &span) && span.start == mapping->start &&
	       span.end <= mapping->end;
}

u64 glibc_huge_bytes(struct scan_memory *memory)
{
	u64 bytes = 0;

	if (!asks_for_huge(memory))
		return 0;
	scan_memory_weigh(memory);
	for (u64 i = 0; i < memory->mappings.count; i++)
		if (memory->mappings.data[i].huge_bytes &&
		    is_of_allocator(memory, &memory->mappings.data[i]))
			bytes += memory->mappings.data[i].huge_bytes;
	return bytes;
}
