/* SPDX-License-Identifier: MIT
 * Reads the resolved symbols of a trace. Runs on the host. Never fails because of a damaged block:
 * trace_read counts that one; its addresses are as if they were not resolved. */
#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/search.h"
#include "host/base/vec.h"
#include "host/trace/cursor.h"
#include "host/trace/readerfile.h"
#include "host/trace/symtab.h"

/* An entry, and its place in the file: of two for one address the later is right. */
struct ranked {
	struct symbol_entry entry;
	u64 rank;
};

struct loading {
	struct arena *arena;
	VEC(struct ranked) found;
	VEC(const char *) texts; /* of the block at hand */
};

/* False if there is no memory. A bad string table ends early: what names the rest is bad then. */
static bool load_texts(struct loading *l, struct cursor in)
{
	vec_clear(&l->texts);
	while (in.at < in.end) {
		const char *text = cursor_text(&in, l->arena);

		if (!text || !vec_push(&l->texts, text))
			return in.bad;
	}
	return true;
}

static const char *get_text(const struct loading *l, struct cursor *in)
{
	u64 index = cursor_get(in);

	if (index >= l->texts.count) {
		in->bad = true;
		return "";
	}
	return l->texts.data[index];
}

/* False if there is no memory. */
static bool load_frames(struct loading *l, struct cursor *in, struct symbol_entry *entry)
{
	u64 count = cursor_get(in);
	struct symbol_frame *frames;

	if (in->bad || count > (u64)(in->end - in->at) / 3) { /* a frame takes 3 bytes at least */
		in->bad = true;
		return true;
	}
	frames = arena_new_array(l->arena, struct symbol_frame, count);
	if (!frames)
		return false;
	for (u64 i = 0; i < count; i++) {
		u64 line;

		frames[i].function = get_text(l, in);
		frames[i].file = get_text(l, in);
		line = cursor_get(in);
		frames[i].line = (u32)(line >> 1);
		frames[i].column = (u32)(line >> 33);
		frames[i].inlined = line & 1;
	}
	entry->frames = frames;
	entry->frame_count = (u32)count;
	return true;
}

static bool load_rows(struct loading *l, struct cursor in)
{
	struct symbol_entry entry = {0};

	while (in.at < in.end) {
		struct ranked ranked;

		entry.image += (u32)hw_unzigzag(cursor_get(&in));
		entry.module += (u32)hw_unzigzag(cursor_get(&in));
		entry.address += (u64)hw_unzigzag(cursor_get(&in));
		if (!load_frames(l, &in, &entry))
			return false;
		if (in.bad)
			return true;
		ranked = (struct ranked){entry, l->found.count};
		if (!vec_push(&l->found, ranked))
			return false;
	}
	return true;
}

static bool load_block(void *data, const struct block *block)
{
	struct loading *l = data;
	struct cursor in = block_cursor(block);
	u64 bytes;
	const u8 *strings = cursor_bytes(&in, &bytes);

	return in.bad || (load_texts(l, (struct cursor){strings, strings + bytes, false}) &&
			  load_rows(l, in));
}

static int compare_entries(const struct symbol_entry *a, const struct symbol_entry *b)
{
	return rising(a->image, b->image)
		       ?: rising(a->module, b->module) ?: rising(a->address, b->address);
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return compare_entries(&a->entry, &b->entry) ?: rising(a->rank, b->rank);
}

static bool make_table(struct loading *l, struct symbol_table *table)
{
	u64 count = l->found.count;

	table->entries = arena_new_array(l->arena, struct symbol_entry, count);
	if (!table->entries)
		return false;
	vec_sort(&l->found, compare_ranked);
	for (u64 i = 0; i < count; i++) {
		const struct symbol_entry *entry = &l->found.data[i].entry;

		if (table->count && compare_entries(&table->entries[table->count - 1], entry) == 0)
			table->count--;
		table->entries[table->count++] = *entry;
	}
	return true;
}

int trace_read_symbols(const char *path, struct symbol_table *table, struct err *err)
{
	struct loading l = {.arena = calloc(1, sizeof(*l.arena))};
	int status = l.arena ? trace_blocks(path, HW_BLOCK_SYMBOLS, load_block, &l, err)
			     : err_memory(err);

	*table = (struct symbol_table){.storage = l.arena};
	if (status == 0 && !make_table(&l, table))
		status = err_memory(err);
	vec_release(&l.found);
	vec_release(&l.texts);
	if (status < 0)
		symbol_table_release(table);
	return status;
}

void symbol_table_release(struct symbol_table *table)
{
	if (table->storage)
		arena_release(table->storage);
	free(table->storage);
	*table = (struct symbol_table){0};
}

const struct symbol_entry *symbol_table_find(const struct symbol_table *table, u32 image,
					     u32 module, u64 address)
{
	const struct symbol_entry key = {.image = image, .module = module, .address = address};
	u64 low = bisect(at, table->count, compare_entries(&table->entries[at], &key) < 0);
	const struct symbol_entry *entry = &table->entries[low];

	return low < table->count && compare_entries(entry, &key) == 0 ? entry : NULL;
}

bool symbol_entry_variable(struct symbol_entry *entry, const struct symbol_variable *variable,
			   struct arena *arena)
{
	struct symbol_frame *frames = arena_new_array(arena, struct symbol_frame, 2);

	if (!frames)
		return false;
	frames[0] = (struct symbol_frame){.function = variable->name,
					  .file = variable->file,
					  .line = variable->line,
					  .inlined = true};
	frames[1] =
		(struct symbol_frame){.function = "",
				      .file = "",
				      .line = variable->bytes < UINT32_MAX ? (u32)variable->bytes
									   : UINT32_MAX,
				      .inlined = true};
	entry->frames = frames;
	entry->frame_count = 2;
	return true;
}

bool symbol_table_variable(const struct symbol_table *table, const struct symbol_entry *at,
			   struct symbol_variable *variable)
{
	u64 after = bisect(i, table->count, compare_entries(&table->entries[i], at) <= 0);
	const struct symbol_entry *entry = after ? &table->entries[after - 1] : NULL;

	if (!entry || entry->image != at->image || entry->module != at->module ||
	    entry->frame_count != 2 || !entry->frames[1].inlined ||
	    at->address - entry->address >= entry->frames[1].line)
		return false;
	*variable = (struct symbol_variable){.name = entry->frames[0].function,
					     .file = entry->frames[0].file,
					     .line = entry->frames[0].line,
					     .start = entry->address,
					     .bytes = entry->frames[1].line};
	return true;
}
