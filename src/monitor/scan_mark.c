/* SPDX-License-Identifier: MIT
 * Marking; see scan_mark.h. Runs on a scan's thread. No recursion: blocks to be searched wait on
 * stacks, and are searched in batches whose pages are read in one call.
 *
 * A block is reachable if a start-pointer to it is in a root or in a reachable block; a pointer
 * into its middle counts the same where it is of a known form (see interior_is_usual). Else it
 * is possibly lost if any chain of pointers leads to it, and lost if none does. Of the lost
 * ones, taken by address, those to which another one leads are indirectly lost; of a ring the
 * first one leads. */
#include "monitor/scan_mark.h"

#include <stdlib.h>
#include <time.h>

#include "format/atomics.h"

enum {
	BATCH = 128,
	LARGE = 16 << 10,  /* blocks of this size are read past the cache */
	VTABLE_WORDS = 20, /* how far to look for a function in what may be a table of them */
};

int scan_mark_init(struct scan_mark *self, struct scan_memory *memory,
		   const struct scan_index *index, struct err *err)
{
	*self = (struct scan_mark){.memory = memory, .index = index, .how = CLASS_REACHABLE};
	self->classes = calloc(index->blocks.count + 1, 1);
	scan_huge(self->classes, index->blocks.count);
	return self->classes ? 0 : err_set(err, ERR_MEMORY, "out of memory");
}

void scan_mark_release(struct scan_mark *self)
{
	free(self->classes);
	vec_release(&self->reachable);
	vec_release(&self->possible);
	self->classes = NULL;
}

/* ---- pointers into the middle of a block ----------------------------------------------------- */

/* Length, capacity and reference count before the characters. */
static bool is_string(struct scan_mark *self, const struct scan_block *block, u64 value)
{
	u64 capacity;

	if (value != block->address + 24 || block->size < 24)
		return false;
	capacity = scan_memory_word(self->memory, block->address + 8);
	return 24 + capacity + 1 == block->size &&
	       scan_memory_word(self->memory, block->address) <= capacity;
}

/* The number of bytes, or of elements, before them. */
static bool is_counted(struct scan_mark *self, const struct scan_block *block, u64 value)
{
	u64 count;

	if (value != block->address + 8 || block->size < 8)
		return false;
	count = scan_memory_word(self->memory, block->address);
	return count > 0 && (block->size - 8) % count == 0;
}

/* Whether the first function that a table at `address` names is code. */
static bool is_vtable(struct scan_mark *self, u64 address)
{
	const struct mapping *mapping;
	u64 end;

	if (address % 8 || address < SCAN_PAGE)
		return false;
	mapping = scan_memory_mapping(self->memory, address);
	if (!mapping || mapping->kind != MAPPING_FILE || !mapping->readable)
		return false;
	end = address + VTABLE_WORDS * 8 < mapping->end ? address + VTABLE_WORDS * 8 : mapping->end;
	for (; address + 8 <= end; address += 8) {
		u64 function = scan_memory_word(self->memory, address);

		if (!function)
			continue;
		mapping = scan_memory_mapping(self->memory, function);
		return mapping && mapping->kind == MAPPING_FILE && mapping->executable;
	}
	return false;
}

/* An object with several bases begins with a table, and so does each later base in it. */
static bool is_base(struct scan_mark *self, const struct scan_block *block, u64 value)
{
	return value % 8 == 0 && block->address % 8 == 0 &&
	       value + 8 <= block->address + block->size &&
	       is_vtable(self, scan_memory_word(self->memory, value)) &&
	       is_vtable(self, scan_memory_word(self->memory, block->address));
}

static bool interior_is_usual(struct scan_mark *self, const struct scan_block *block, u64 value)
{
	return is_string(self, block, value) || is_counted(self, block, value) ||
	       is_base(self, block, value);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void push_reachable(struct scan_mark *self, u32 block)
{
	self->classes[block] = CLASS_REACHABLE;
	self->failed |= !vec_push(&self->reachable, block);
}

static void push_possible(struct scan_mark *self, u32 block, u8 chunk_class)
{
	self->classes[block] = chunk_class;
	self->failed |= !vec_push(&self->possible, block);
}

/* A word of a root, or of a reachable block, points to the block. */
static void meet_firmly(struct scan_mark *self, u32 number, u64 value)
{
	const struct scan_block *block = &self->index->blocks.data[number];

	if (self->classes[number] == CLASS_REACHABLE)
		return;
	if (value == block->address || interior_is_usual(self, block, value))
		push_reachable(self, number);
	else if (self->classes[number] == CLASS_UNKNOWN)
		push_possible(self, number, CLASS_POSSIBLE);
}

static inline void meet(struct scan_mark *self, u64 value)
{
	u32 number = scan_index_find(self->index, value);

	if (likely(number == NO_BLOCK))
		return;
	if (self->how == CLASS_REACHABLE)
		meet_firmly(self, number, value);
	else if (self->classes[number] == CLASS_UNKNOWN && number != self->leader)
		push_possible(self, number, (u8)self->how);
}

static void words_search(void *data, u64 address, const u64 *words, u64 count)
{
	struct scan_mark *self = data;

	(void)address;
	for (u64 i = 0; i < count; i++)
		meet(self, words[i]);
}

u64 scan_mark_range(struct scan_mark *self, u64 start, u64 end)
{
	return scan_memory_each_word(self->memory, start, end, words_search, self);
}

void scan_mark_value(struct scan_mark *self, u64 value) { meet(self, value); }

/* ---- blocks ---------------------------------------------------------------------------------- */

static void block_search(struct scan_mark *self, u32 number)
{
	const struct scan_block *block = &self->index->blocks.data[number];
	u64 at = (block->address + 7) & ~7ull, end = (block->address + block->size) & ~7ull;

	if (block->size >= LARGE) {
		scan_mark_range(self, at, end);
		return;
	}
	for (; at < end; at += 8)
		meet(self, scan_memory_word(self->memory, at));
}

static void batch_fetch(struct scan_mark *self, const u32 *numbers, u32 count)
{
	u64 pages[BATCH * 2];
	u32 found = 0;

	for (u32 i = 0; i < count; i++) {
		const struct scan_block *block = &self->index->blocks.data[numbers[i]];

		if (block->size < 8 || block->size >= LARGE)
			continue;
		pages[found++] = block->address / SCAN_PAGE;
		pages[found++] = (block->address + block->size - 1) / SCAN_PAGE;
	}
	scan_memory_fetch(self->memory, pages, found);
}

static int check(struct scan_mark *self, struct err *err)
{
	struct timespec now;

	if (self->failed)
		return err_set(err, ERR_MEMORY, "out of memory");
	if (self->memory->gone)
		return err_set(err, ERR_SYSTEM, "the process was killed meanwhile");
	if (self->cancel && load_relaxed(self->cancel) != self->cancel_seen)
		return err_set(err, ERR_SYSTEM, "it was interrupted");
	if (!self->deadline_ns || self->checks++ % 64)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec < self->deadline_ns)
		return 0;
	return err_set(err, ERR_SYSTEM, "it took too long");
}

static int reachable_follow(struct scan_mark *self, struct err *err)
{
	self->how = CLASS_REACHABLE;
	while (self->reachable.count) {
		u32 batch[BATCH], count = 0;
		int status = check(self, err);

		if (status < 0)
			return status;
		while (self->reachable.count && count < BATCH)
			batch[count++] = self->reachable.data[--self->reachable.count];
		if (count > 1)
			batch_fetch(self, batch, count);
		for (u32 i = 0; i < count; i++)
			block_search(self, batch[i]);
	}
	return 0;
}

/* Whatever is met for the first time becomes `how`. */
static int others_follow(struct scan_mark *self, u32 how, struct err *err)
{
	self->how = how;
	while (self->possible.count) {
		u32 batch[BATCH], count = 0;
		int status = check(self, err);

		if (status < 0)
			return status;
		while (self->possible.count && count < BATCH) {
			u32 number = self->possible.data[--self->possible.count];

			if (self->classes[number] !=
			    CLASS_REACHABLE) /* that was searched already */
				batch[count++] = number;
		}
		if (count > 1)
			batch_fetch(self, batch, count);
		for (u32 i = 0; i < count; i++)
			block_search(self, batch[i]);
	}
	return 0;
}

/* Each block that nothing leads to yet becomes a leader: all that it leads to is lost with it,
 * earlier leaders, too. What it has led to before is not searched again. */
static int lost_follow(struct scan_mark *self, struct err *err)
{
	for (u32 i = 0; i < self->index->blocks.count; i++) {
		if (self->classes[i] != CLASS_UNKNOWN)
			continue;
		self->leader = i;
		self->how = CLASS_INDIRECT;
		block_search(self, i);
		if (others_follow(self, CLASS_INDIRECT, err) < 0)
			return err->code;
		if (i % 4096 == 0 && check(self, err) < 0)
			return err->code;
	}
	for (u64 i = 0; i < self->index->blocks.count; i++) {
		if (self->classes[i] == CLASS_UNKNOWN)
			self->classes[i] = CLASS_LOST;
	}
	return 0;
}

int scan_mark_finish(struct scan_mark *self, struct err *err)
{
	self->leader = NO_BLOCK;
	if (reachable_follow(self, err) < 0 || others_follow(self, CLASS_POSSIBLE, err) < 0 ||
	    lost_follow(self, err) < 0)
		return err->code;
	return check(self, err);
}
