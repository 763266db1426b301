/* SPDX-License-Identifier: MIT
 * Types of chunks into columns and back. The first half runs on the monitor's drain thread, where want
 * of memory is remembered and asked for once per block; the second on the host, where nothing is
 * allocated by what the payload says. */
#include "trace/types.h"

#include <string.h>

#include "trace/columns.h"
#include "trace/cursor.h"
#include "trace/decode.h"

enum { ROW_BATCH = 256, SOURCES = 16 };

/* ---- writing ---- */

void types_add(struct types *self, const struct stream_type *row)
{
	varint_add(&self->columns[HW_TYPE_COLUMN_CHUNK], hw_zigzag((i64)(row->chunk - self->chunk)));
	varint_add(&self->columns[HW_TYPE_COLUMN_HEAD],
		   (u64)row->source << HW_TYPE_SOURCE_SHIFT | (row->count ? HW_TYPE_COUNTED : 0) |
			   (row->offset ? HW_TYPE_SHIFTED : 0));
	varint_add(&self->columns[HW_TYPE_COLUMN_IDENTITY],
		   hw_zigzag((i64)(row->identity - self->identity)));
	if (row->count)
		varint_add(&self->columns[HW_TYPE_COLUMN_NUMBER], row->count);
	if (row->offset)
		varint_add(&self->columns[HW_TYPE_COLUMN_OFFSET], row->offset);
	self->chunk = row->chunk;
	self->identity = row->identity;
	self->items++;
}

u64 types_bytes(const struct types *self, u32 part_bytes[TYPES_PARTS])
{
	return columns_bytes(self->columns, HW_TYPE_COLUMNS, part_bytes);
}

void types_finish(struct types *self, u8 *out)
{
	columns_finish(self->columns, HW_TYPE_COLUMNS, out);
	self->chunk = self->identity = 0;
	self->items = 0;
}

bool types_failed(const struct types *self) { return columns_failed(self->columns, HW_TYPE_COLUMNS); }

void types_release(struct types *self) { columns_release(self->columns, HW_TYPE_COLUMNS); }

/* ---- reading ---- */

/* The row before is in *row. */
static void get_row(struct cursor columns[HW_TYPE_COLUMNS], struct stream_type *row)
{
	u64 head;

	row->chunk += (u64)hw_unzigzag(cursor_get(&columns[HW_TYPE_COLUMN_CHUNK]));
	head = cursor_get(&columns[HW_TYPE_COLUMN_HEAD]);
	columns[HW_TYPE_COLUMN_HEAD].bad |= head >> HW_TYPE_SOURCE_SHIFT >= SOURCES;
	row->source = (u8)(head >> HW_TYPE_SOURCE_SHIFT);
	row->identity += (u64)hw_unzigzag(cursor_get(&columns[HW_TYPE_COLUMN_IDENTITY]));
	row->count = head & HW_TYPE_COUNTED ? cursor_get(&columns[HW_TYPE_COLUMN_NUMBER]) : 0;
	row->offset = head & HW_TYPE_SHIFTED ? cursor_get_u32(&columns[HW_TYPE_COLUMN_OFFSET]) : 0;
}

/* Chunks as the reader numbers them, without the gaps that damage leaves. */
static int tell_rows(const struct types_reading *to, struct stream_type *rows, u64 count,
		     struct err *err)
{
	u64 kept = 0;

	for (u64 i = 0; i < count; i++) {
		struct stream_type row = rows[i];

		if (to->decoder)
			row.chunk = decoder_chunk(to->decoder, row.chunk);
		if (row.chunk == NO_CHUNK)
			++*to->lost;
		else
			rows[kept++] = row;
	}
	return kept && to->sink->types ? to->sink->types(to->sink->self, rows, kept, err) : 0;
}

static bool at_end(const struct cursor columns[HW_TYPE_COLUMNS])
{
	for (u32 i = 0; i < HW_TYPE_COLUMNS; i++)
		if (columns[i].at != columns[i].end)
			return false;
	return true;
}

int types_tell(const struct types_reading *to, const u8 *payload, u64 bytes, u32 items,
	       struct err *err)
{
	struct cursor in = {payload, payload + bytes, false}, columns[HW_TYPE_COLUMNS];
	struct stream_type batch[ROW_BATCH], row = {0};
	u64 count = 0;
	int status = 0;

	if (items > HW_BLOCK_TYPES_MAX || !cursor_split(&in, columns, HW_TYPE_COLUMNS))
		return BLOCK_CONTENT;
	for (u32 i = 0; i < items && status == 0; i++) {
		get_row(columns, &row);
		if (cursors_bad(columns, HW_TYPE_COLUMNS)) {
			status = tell_rows(to, batch, count, err);
			return status < 0 ? status : BLOCK_CONTENT;
		}
		batch[count++] = row;
		if (count < ROW_BATCH && i + 1 < items)
			continue;
		status = tell_rows(to, batch, count, err);
		count = 0;
	}
	return status < 0 ? status : at_end(columns) ? 0 : BLOCK_CONTENT;
}
