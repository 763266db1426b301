/* SPDX-License-Identifier: MIT
 * Blocks that are written column by column; see columns.h. Host. */
#include "host/trace/columns.h"

#include <stdlib.h>
#include <string.h>

#include "host/trace/cursor.h"

enum { NUMBERS_MAX = 2, SLACK = 8 }; /* behind each column: puts write more bytes than they keep */

struct part {
	const void *bytes;
	u64 count;
};

static struct parcel *pack(const struct part *parts, u32 count, const u64 *numbers,
			   u32 number_count)
{
	u8 head[(NUMBERS_MAX + COLUMNS_MAX) * HW_VARINT_MAX], *p = head;
	struct parcel *parcel;
	u64 head_bytes, sum;

	for (u32 i = 0; i < number_count; i++)
		p = hw_varint_put(p, numbers[i]);
	for (u32 i = 0; i < count; i++)
		p = hw_varint_put(p, parts[i].count);
	sum = head_bytes = (u64)(p - head);
	for (u32 i = 0; i < count; i++)
		sum += parts[i].count;
	parcel = parcel_new(sum);
	if (!parcel)
		return NULL;
	memcpy(parcel->payload, head, head_bytes);
	parcel->part_bytes[0] = (u32)head_bytes;
	parcel->raw.parts = count + 1;
	p = parcel->payload + head_bytes;
	for (u32 i = 0; i < count; i++) {
		memcpy(p, parts[i].bytes, parts[i].count);
		parcel->part_bytes[i + 1] = (u32)parts[i].count;
		p += parts[i].count;
	}
	return parcel;
}

struct parcel *columns_take(struct columns *self, u32 count)
{
	struct part parts[COLUMNS_MAX] = {{0}};
	struct parcel *parcel;
	bool failed = false;

	for (u32 i = 0; i < count; i++) {
		failed |= self->data[i].failed;
		parts[i] = (struct part){strbuf_text(&self->data[i]), self->data[i].count};
	}
	parcel = failed ? NULL : pack(parts, count, NULL, 0);
	if (!parcel)
		return NULL;
	parcel->raw.items = self->items;
	for (u32 i = 0; i < count; i++)
		strbuf_clear(&self->data[i]);
	self->items = 0;
	return parcel;
}

void columns_release(struct columns *self)
{
	for (u32 i = 0; i < COLUMNS_MAX; i++)
		strbuf_release(&self->data[i]);
}

bool fixed_columns_init(struct fixed_columns *self, const u8 *room, u32 count, u64 rows)
{
	u64 bytes = 0;
	u8 *p;

	for (u32 i = 0; i < count; i++)
		bytes += room[i] * rows + SLACK;
	p = malloc(bytes);
	if (!p)
		return false;
	self->count = count;
	for (u32 i = 0; i < count; i++) {
		self->base[i] = p;
		p += room[i] * rows + SLACK;
	}
	fixed_columns_clear(self);
	return true;
}

void fixed_columns_release(struct fixed_columns *self) { free(self->base[0]); }

void fixed_columns_clear(struct fixed_columns *self)
{
	memcpy(self->at, self->base, sizeof(self->at));
}

struct parcel *fixed_columns_take(struct fixed_columns *self, const u64 *numbers, u32 number_count)
{
	struct part parts[COLUMNS_MAX];

	for (u32 i = 0; i < self->count; i++)
		parts[i] = (struct part){self->base[i], (u64)(self->at[i] - self->base[i])};
	return pack(parts, self->count, numbers, number_count);
}

int columns_tell(const struct columns_reading *to, const struct block *block, struct err *err)
{
	struct cursor in = block_cursor(block), columns[COLUMNS_MAX];
	u32 count = 0;
	int status = 0;

	if (block->items > to->items_max || !cursor_split(&in, columns, to->columns))
		return BLOCK_CONTENT;
	for (u32 i = 0; i < block->items && status == 0; i++) {
		to->get(to->self, columns, count);
		if (cursors_bad(columns, to->columns)) {
			status = to->tell(to->self, count, err);
			return status < 0 ? status : BLOCK_CONTENT;
		}
		if (++count < COLUMNS_BATCH && i + 1 < block->items)
			continue;
		status = to->tell(to->self, count, err);
		count = 0;
	}
	return status < 0 ? status : cursors_at_end(columns, to->columns) ? 0 : BLOCK_CONTENT;
}
