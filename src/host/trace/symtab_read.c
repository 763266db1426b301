/* SPDX-License-Identifier: MIT
 * Reads the resolved symbols of a trace. Runs on the host. Never fails because of a damaged block:
 * trace_read counts that one; its addresses are as if they were not resolved. */
#include <stdlib.h>
#include <string.h>

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "format/varint.h"
#include "host/trace/reader.h"
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

struct cursor {
	const u8 *at, *end;
	bool bad;
};

static u64 get(struct cursor *in)
{
	u64 value = 0;
	const u8 *after = in->bad ? NULL : hw_varint_get(in->at, in->end, &value);

	in->bad |= !after;
	if (after)
		in->at = after;
	return after ? value : 0;
}

/* False if there is no memory. A bad string table ends early: what names the rest is bad then. */
static bool load_texts(struct loading *l, struct cursor in)
{
	vec_clear(&l->texts);
	while (in.at < in.end) {
		u64 length = get(&in);
		const char *text;

		if (in.bad || length > (u64)(in.end - in.at))
			return true;
		text = arena_copy_text(l->arena, (const char *)in.at, length);
		if (!text || !vec_push(&l->texts, text))
			return false;
		in.at += length;
	}
	return true;
}

static const char *get_text(const struct loading *l, struct cursor *in)
{
	u64 index = get(in);

	if (index >= l->texts.count) {
		in->bad = true;
		return "";
	}
	return l->texts.data[index];
}

/* False if there is no memory. */
static bool load_frames(struct loading *l, struct cursor *in, struct symbol_entry *entry)
{
	u64 count = get(in);
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
		line = get(in);
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

		entry.image += (u32)hw_unzigzag(get(&in));
		entry.module += (u32)hw_unzigzag(get(&in));
		entry.address += (u64)hw_unzigzag(get(&in));
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

static bool load_block(void *data, const u8 *payload, u64 bytes, u32 items)
{
	struct loading *l = data;
	struct cursor in = {payload, payload + bytes, false};
	u64 strings = get(&in);

	(void)items;
	if (in.bad || strings > (u64)(in.end - in.at))
		return true;
	return load_texts(l, (struct cursor){in.at, in.at + strings, false}) &&
	       load_rows(l, (struct cursor){in.at + strings, in.end, false});
}

static int compare_entries(const struct symbol_entry *a, const struct symbol_entry *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return 0;
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	int order = compare_entries(&a->entry, &b->entry);

	if (order)
		return order;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool make_table(struct loading *l, struct symbol_table *table)
{
	u64 count = l->found.count;

	table->entries = arena_new_array(l->arena, struct symbol_entry, count);
	if (!table->entries)
		return false;
	if (count)
		qsort(l->found.data, count, sizeof(*l->found.data), compare_ranked);
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
	struct loading l = {0};
	struct trace_reader *reader;
	int status = ERR_MEMORY;

	*table = (struct symbol_table){0};
	reader = trace_open(path, err);
	if (!reader)
		return ERR_INPUT;
	l.arena = calloc(1, sizeof(*l.arena));
	table->storage = l.arena;
	if (l.arena)
		status = reader_blocks(reader, HW_BLOCK_SYMBOLS, load_block, &l, err);
	if (status == 0 && !make_table(&l, table))
		status = ERR_MEMORY;
	vec_release(&l.found);
	vec_release(&l.texts);
	trace_close(reader);
	if (status < 0)
		symbol_table_release(table);
	return status == ERR_MEMORY ? err_memory(err) : status;
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
	u64 low = 0, high = table->count;

	while (low < high) {
		u64 middle = low + (high - low) / 2;
		int order = compare_entries(&table->entries[middle], &key);

		if (order == 0)
			return &table->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
