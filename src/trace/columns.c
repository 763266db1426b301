/* SPDX-License-Identifier: MIT
 * Blocks that are written column by column; see columns.h. Host. */
#include "trace/columns.h"

#include <string.h>

#include "format/varint.h"

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
