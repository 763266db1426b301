/* SPDX-License-Identifier: MIT
 * Blocks that are written column by column; see columns.h. Host. */
#include "host/trace/columns.h"

#include <string.h>

#include "format/varint.h"
#include "host/trace/block.h"
#include "host/trace/cursor.h"

static u64 put_head(const struct strbuf *columns, u32 count, u8 *head)
{
	u8 *p = head;

	for (u32 i = 0; i < count; i++)
		p = hw_varint_put(p, columns[i].count);
	return (u64)(p - head);
}

u64 columns_bytes(const struct strbuf *columns, u32 count, u32 *part_bytes)
{
	u8 head[COLUMNS_MAX * HW_VARINT_MAX];
	u64 sum = part_bytes[0] = (u32)put_head(columns, count, head);

	for (u32 i = 0; i < count; i++)
		sum += part_bytes[i + 1] = (u32)columns[i].count;
	return sum;
}

void columns_finish(struct strbuf *columns, u32 count, u8 *out)
{
	out += put_head(columns, count, out);
	for (u32 i = 0; i < count; i++) {
		memcpy(out, strbuf_text(&columns[i]), columns[i].count);
		out += columns[i].count;
		strbuf_clear(&columns[i]);
	}
}

bool columns_failed(const struct strbuf *columns, u32 count)
{
	bool failed = false;

	for (u32 i = 0; i < count; i++)
		failed |= columns[i].failed;
	return failed;
}

void columns_release(struct strbuf *columns, u32 count)
{
	for (u32 i = 0; i < count; i++)
		strbuf_release(&columns[i]);
}

int columns_tell(const struct columns_reading *to, const u8 *payload, u64 bytes, u32 items,
		 struct err *err)
{
	struct cursor in = {payload, payload + bytes, false}, columns[COLUMNS_MAX];
	u32 count = 0;
	int status = 0;

	if (items > to->items_max || !cursor_split(&in, columns, to->columns))
		return BLOCK_CONTENT;
	for (u32 i = 0; i < items && status == 0; i++) {
		to->get(to->self, columns, count);
		if (cursors_bad(columns, to->columns)) {
			status = to->tell(to->self, count, err);
			return status < 0 ? status : BLOCK_CONTENT;
		}
		if (++count < COLUMNS_BATCH && i + 1 < items)
			continue;
		status = to->tell(to->self, count, err);
		count = 0;
	}
	return status < 0 ? status : cursors_at_end(columns, to->columns) ? 0 : BLOCK_CONTENT;
}
