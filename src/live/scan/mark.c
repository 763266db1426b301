/* SPDX-License-Identifier: MIT
 * Marking; see mark.h. Runs on a scan's thread. No recursion: blocks to be followed wait on
 * stacks.
 *
 * A block is reachable if a start-pointer to it is in a root or in a reachable block; a pointer
 * into its middle counts the same where it is of a known form (see interior_is_usual). Else it
 * is possibly lost if any chain of pointers leads to it, and lost if none does. Of the lost
 * ones, taken by address, those to which another one leads are indirectly lost; of a ring the
 * first one leads. */
#include "live/scan/mark.h"

#include <stdlib.h>

#include "format/arch/tag.h"
#include "host/base/huge.h"

enum {
	PATIENCE = 4096,   /* blocks between two looks at the clock */
	VTABLE_WORDS = 20, /* how far to look for a function in what may be a table of them */
};

int scan_mark_init(struct scan_mark *self, struct scan_memory *memory,
		   const struct scan_index *index, struct scan_edges *edges, struct err *err)
{
	*self = (struct scan_mark){
		.memory = memory,
		.index = index,
		.edges = edges,
		.how = CLASS_REACHABLE,
		.leader = NO_BLOCK,
	};
	self->classes = calloc(index->blocks.count + 1, 1);
	huge_ask(self->classes, index->blocks.count);
	return self->classes ? 0 : err_memory(err);
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

static void meet(struct scan_mark *self, u32 number, u64 value)
{
	if (self->how == CLASS_REACHABLE)
		meet_firmly(self, number, value);
	else if (self->classes[number] == CLASS_UNKNOWN && number != self->leader)
		push_possible(self, number, (u8)self->how);
}

/* False if it points nowhere. */
static inline bool value_follow(struct scan_mark *self, u64 address)
{
	u32 number = scan_index_find(self->index, address);

	if (number != NO_BLOCK)
		meet(self, number, address);
	return number != NO_BLOCK;
}

void scan_mark_value(struct scan_mark *self, u64 value) { value_follow(self, hw_untagged(value)); }

void scan_mark_words(void *data, u64 address, const u64 *words, u64 count)
{
	struct scan_mark *self = data;
	struct scan_words here = {address, words, count};

	if (self->kept)
		self->failed |= !scan_numbers_begin(self->beside, &here);
	for (u64 i = 0; i < count; i++) {
		u64 value = hw_untagged(words[i]);
		bool points = value_follow(self, value);

		if (self->kept && (points || scan_index_ends(self->index, value) != NO_BLOCK))
			self->failed |= !scan_pointers_add(self->kept, address + i * 8, value) ||
					!scan_numbers_beside(self->beside, &here, i);
	}
	if (self->kept)
		scan_numbers_end(self->beside, &here);
}

u64 scan_mark_range(struct scan_mark *self, u64 start, u64 end)
{
	return scan_memory_each_word(self->memory, start, end, scan_mark_words, self);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void block_follow(struct scan_mark *self, u32 block)
{
	const u32 *end, *edge = scan_edges_of(self->edges, block, &end);
	const struct scan_inside *inside_end,
		*inside = scan_edges_inside_of(self->edges, block, &inside_end);

	for (; edge < end; edge++)
		meet(self, *edge, self->index->blocks.data[*edge].address);
	for (; inside < inside_end; inside++)
		meet(self, inside->block, inside->value);
}

static int check(struct scan_mark *self, struct err *err)
{
	if (self->failed)
		return err_memory(err);
	return scan_memory_check(self->memory, err);
}

static int reachable_follow(struct scan_mark *self, struct err *err)
{
	self->how = CLASS_REACHABLE;
	for (u64 done = 0; self->reachable.count; done++) {
		if (done % PATIENCE == 0 && check(self, err) < 0)
			return err->code;
		block_follow(self, self->reachable.data[--self->reachable.count]);
	}
	return 0;
}

/* Whatever is met for the first time becomes `how`. */
static int others_follow(struct scan_mark *self, u32 how, struct err *err)
{
	self->how = how;
	for (u64 done = 1; self->possible.count; done++) {
		u32 number = self->possible.data[--self->possible.count];

		if (self->classes[number] != CLASS_REACHABLE) /* that was followed already */
			block_follow(self, number);
		if (done % PATIENCE == 0 && check(self, err) < 0)
			return err->code;
	}
	return 0;
}

/* Each block that nothing leads to yet becomes a leader: all that it leads to is lost with it,
 * earlier leaders, too. What it has led to before is not followed again. */
static int lost_follow(struct scan_mark *self, struct err *err)
{
	for (u32 i = 0; i < self->index->blocks.count; i++) {
		if (i % PATIENCE == 0 && check(self, err) < 0)
			return err->code;
		if (self->classes[i] != CLASS_UNKNOWN)
			continue;
		self->leader = i;
		self->how = CLASS_INDIRECT;
		block_follow(self, i);
		if (others_follow(self, CLASS_INDIRECT, err) < 0)
			return err->code;
	}
	for (u64 i = 0; i < self->index->blocks.count; i++) {
		if (self->classes[i] == CLASS_UNKNOWN)
			self->classes[i] = CLASS_LOST;
	}
	return 0;
}

/* Pointers to the middle are looked for when those to starts have led as far as they do; what was
 * followed then is followed again where it has some. */
static int inside_follow(struct scan_mark *self, struct err *err)
{
	if (scan_edges_look_inside(self->edges, self->memory, self->index, self->classes, err) < 0)
		return err->code;
	for (u32 i = 0; i < self->index->blocks.count; i++) {
		const struct scan_inside *end, *inside = scan_edges_inside_of(self->edges, i, &end);

		if (inside < end && self->classes[i] == CLASS_REACHABLE)
			self->failed |= !vec_push(&self->reachable, i);
	}
	return reachable_follow(self, err);
}

int scan_mark_finish(struct scan_mark *self, struct err *err)
{
	if (reachable_follow(self, err) < 0 || inside_follow(self, err) < 0 ||
	    others_follow(self, CLASS_POSSIBLE, err) < 0 || lost_follow(self, err) < 0)
		return err->code;
	return check(self, err);
}
