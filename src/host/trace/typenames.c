/* SPDX-License-Identifier: MIT
 * Names of types into blocks and back. Runs on the host, after the recording. */
#include "host/trace/typenames.h"

#include <string.h>

#include "host/trace/append.h"
#include "host/trace/cursor.h"
#include "host/trace/readerfile.h"

enum { BLOCK_FULL = 1 << 20, NAME_MAX_BYTES = 64 << 10 };

/* ---- writing ---- */

static void add_row(struct strbuf *payload, const struct type_name *row, u64 before)
{
	varint_add(payload, row->image);
	varint_add(payload, row->module == TYPE_NO_MODULE ? 0 : (u64)row->module + 1);
	varint_add(payload, hw_zigzag((i64)(row->identity - before)));
	bytes_add(payload, row->name, strnlen(row->name, NAME_MAX_BYTES));
}

static int append(struct block_file *file, const void *names, u64 count, struct err *err)
{
	const struct type_name *rows = names;
	struct strbuf payload = {0};
	u64 before = 0;
	u32 items = 0;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		add_row(&payload, &rows[i], before);
		before = rows[i].identity;
		items++;
		if (payload.count < BLOCK_FULL && i + 1 < count)
			continue;
		status = append_payload(file, HW_BLOCK_TYPE_NAMES, &payload, items, err);
		items = 0;
		before = 0;
	}
	strbuf_release(&payload);
	return status;
}

int trace_write_type_names(const char *path, const struct type_name *rows, u64 count,
			   struct err *err)
{
	return trace_append(path, append, rows, count, err);
}

/* ---- reading ---- */

/* False if there is no memory. A bad payload ends early. */
static bool load_block(void *data, const struct block *block)
{
	struct type_names *names = data;
	struct cursor in = block_cursor(block);
	u64 identity = 0;

	for (u32 i = 0; i < block->items; i++) {
		struct type_name row = {.image = cursor_get_u32(&in)};
		u64 module = cursor_get(&in);

		row.module = module && module < TYPE_NO_MODULE ? (u32)module - 1 : TYPE_NO_MODULE;
		identity += (u64)hw_unzigzag(cursor_get(&in));
		row.identity = identity;
		row.name = cursor_text(&in, &names->arena);
		if (!row.name || !vec_push(&names->rows, row))
			return in.bad;
	}
	return true;
}

int trace_read_type_names(const char *path, struct type_names *names, struct err *err)
{
	int status;

	*names = (struct type_names){0};
	status = trace_blocks(path, HW_BLOCK_TYPE_NAMES, load_block, names, err);
	if (status < 0)
		type_names_release(names);
	return status;
}

void type_names_release(struct type_names *names)
{
	vec_release(&names->rows);
	arena_release(&names->arena);
}
