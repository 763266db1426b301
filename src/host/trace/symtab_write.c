/* SPDX-License-Identifier: MIT
 * Appends resolved symbols to a trace. Runs on the host, after the recording. Never rewrites a byte
 * that is there; if it fails, the file is as it was. */
#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "host/trace/append.h"
#include "host/trace/cursor.h"
#include "host/trace/symtab.h"

enum { BLOCK_FULL = 1 << 20, TEXT_MAX = 64 << 10, COLUMN_MAX = 0xffff };

/* A symbols block under construction. */
struct builder {
	struct strbuf strings, rows, payload;
	VEC(const char *) texts; /* that are in strings, by index */
	struct map index;        /* hash of a text → its index */
	u32 items;
	u32 image, module; /* of the entry before */
	u64 address;
};

/* Index of the text in the block's string table; false if there is no memory. */
static bool text_index(struct builder *builder, const char *text, u64 *index)
{
	u64 length = strnlen(text, TEXT_MAX), key = checksum(text, length);
	u64 *found;

	while ((found = map_find(&builder->index, key))) {
		if (strncmp(builder->texts.data[*found], text, TEXT_MAX) == 0) {
			*index = *found;
			return true;
		}
		key++; /* two texts of one hash: the next key is as good */
	}
	*index = builder->texts.count;
	bytes_add(&builder->strings, text, length);
	return vec_push(&builder->texts, text) && map_put(&builder->index, key, *index);
}

/* Bits from 33 up are beyond the 32 of a line, so readers that know of no columns drop them. */
static u64 pack_position(const struct symbol_frame *frame)
{
	u64 column = frame->line && frame->column <= COLUMN_MAX ? frame->column : 0;

	return column << 33 | (u64)frame->line << 1 | frame->inlined;
}

static bool add_entry(struct builder *builder, const struct symbol_entry *entry)
{
	struct strbuf *rows = &builder->rows;

	varint_add(rows, (u32)hw_zigzag((i32)(entry->image - builder->image)));
	varint_add(rows, (u32)hw_zigzag((i32)(entry->module - builder->module)));
	varint_add(rows, hw_zigzag((i64)(entry->address - builder->address)));
	varint_add(rows, entry->frame_count);
	for (u32 i = 0; i < entry->frame_count; i++) {
		const struct symbol_frame *frame = &entry->frames[i];
		u64 function, file;

		if (!text_index(builder, frame->function ? frame->function : "", &function) ||
		    !text_index(builder, frame->file ? frame->file : "", &file))
			return false;
		varint_add(rows, function);
		varint_add(rows, file);
		varint_add(rows, pack_position(frame));
	}
	builder->image = entry->image;
	builder->module = entry->module;
	builder->address = entry->address;
	builder->items++;
	return !rows->failed && !builder->strings.failed;
}

static void start_block(struct builder *builder)
{
	strbuf_clear(&builder->strings);
	strbuf_clear(&builder->rows);
	vec_clear(&builder->texts);
	map_clear(&builder->index);
	builder->items = 0;
	builder->image = builder->module = 0;
	builder->address = 0;
}

static int append_block(struct builder *builder, struct block_file *file, struct err *err)
{
	struct strbuf *payload = &builder->payload;
	int status;

	bytes_add(payload, strbuf_text(&builder->strings), builder->strings.count);
	strbuf_add_bytes(payload, strbuf_text(&builder->rows), builder->rows.count);
	if (payload->count > HW_BLOCK_RAW_MAX)
		return err_set(err, ERR_INPUT, "the symbols of one address are too long");
	status = append_payload(file, HW_BLOCK_SYMBOLS, payload, builder->items, err);
	start_block(builder);
	return status;
}

static int append(struct block_file *file, const void *rows, u64 count, struct err *err)
{
	const struct symbol_entry *entries = rows;
	struct builder builder = {0};
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		if (!add_entry(&builder, &entries[i]))
			status = err_memory(err);
		else if (builder.strings.count + builder.rows.count >= BLOCK_FULL)
			status = append_block(&builder, file, err);
	}
	if (status == 0 && (builder.items || count == 0))
		status = append_block(&builder, file, err);
	strbuf_release(&builder.strings);
	strbuf_release(&builder.rows);
	strbuf_release(&builder.payload);
	vec_release(&builder.texts);
	map_release(&builder.index);
	return status;
}

int trace_write_symbols(const char *path, const struct symbol_entry *entries, u64 count,
			struct err *err)
{
	return trace_append(path, append, entries, count, err);
}
