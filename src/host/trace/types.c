/* SPDX-License-Identifier: MIT
 * Types of chunks into columns and back. The first half runs on the monitor's drain thread, where
 * want of memory is remembered and asked for once per block; the second on the host, where nothing
 * is allocated by what the payload says. */
#include "host/trace/types.h"

#include <string.h>

#include "host/trace/cursor.h"
#include "host/trace/decode.h"
#include "host/trace/guard.h"

enum { SOURCES = 16 };
_Static_assert((int)HW_TYPE_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");

/* ---- writing ---- */

void types_add(struct types *self, const struct stream_type *row)
{
	struct strbuf *columns = self->columns.data;

	varint_add(&columns[HW_TYPE_COLUMN_CHUNK], hw_zigzag((i64)(row->chunk - self->chunk)));
	varint_add(&columns[HW_TYPE_COLUMN_HEAD], (u64)row->source << HW_TYPE_SOURCE_SHIFT |
							  (row->count ? HW_TYPE_COUNTED : 0) |
							  (row->offset ? HW_TYPE_SHIFTED : 0));
	varint_add(&columns[HW_TYPE_COLUMN_IDENTITY],
		   hw_zigzag((i64)(row->identity - self->identity)));
	if (row->count)
		varint_add(&columns[HW_TYPE_COLUMN_NUMBER], row->count);
	if (row->offset)
		varint_add(&columns[HW_TYPE_COLUMN_OFFSET], row->offset);
	self->chunk = row->chunk;
	self->identity = row->identity;
	self->columns.items++;
}

struct parcel *types_take(struct types *self)
{
	self->chunk = self->identity = 0;
	return columns_take(&self->columns, HW_TYPE_COLUMNS);
}

/* ---- reading ---- */

struct reading {
	const struct chunk_reading *to;
	struct stream_type row; /* the one before */
	struct stream_type batch[COLUMNS_BATCH];
};

static void get_row(void *self_, struct cursor *columns, u32 at)
{
	struct reading *self = self_;
	struct stream_type *row = &self->row;
	u64 head;

	row->chunk += (u64)hw_unzigzag(cursor_get(&columns[HW_TYPE_COLUMN_CHUNK]));
	head = cursor_get(&columns[HW_TYPE_COLUMN_HEAD]);
	columns[HW_TYPE_COLUMN_HEAD].bad |= head >> HW_TYPE_SOURCE_SHIFT >= SOURCES;
	row->source = (u8)(head >> HW_TYPE_SOURCE_SHIFT);
	row->identity += (u64)hw_unzigzag(cursor_get(&columns[HW_TYPE_COLUMN_IDENTITY]));
	row->count = head & HW_TYPE_COUNTED ? cursor_get(&columns[HW_TYPE_COLUMN_NUMBER]) : 0;
	row->offset = head & HW_TYPE_SHIFTED ? cursor_get_u32(&columns[HW_TYPE_COLUMN_OFFSET]) : 0;
	self->batch[at] = *row;
}

/* Chunks as the reader numbers them, without the gaps that damage leaves. */
static int tell_rows(void *self_, u32 count, struct err *err)
{
	struct reading *self = self_;
	const struct chunk_reading *to = self->to;
	u64 kept = 0;

	for (u32 i = 0; i < count; i++) {
		struct stream_type row = self->batch[i];

		if (to->decoder)
			row.chunk = decoder_chunk(to->decoder, row.chunk);
		if (row.chunk == NO_CHUNK)
			++*to->lost;
		else
			self->batch[kept++] = row;
	}
	return kept ? guard_types(to->guard, self->batch, kept, err) : 0;
}

int types_tell(const struct chunk_reading *to, const struct block *block, struct err *err)
{
	struct reading self;
	const struct columns_reading columns = {HW_TYPE_COLUMNS, HW_BLOCK_TYPES_MAX, get_row,
						tell_rows, &self};

	self.to = to;
	self.row = (struct stream_type){0};
	return columns_tell(&columns, block, err);
}
