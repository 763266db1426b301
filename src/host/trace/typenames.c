/* SPDX-License-Identifier: MIT
 * Names of types into blocks and back. Runs on the host, after the recording. */
#include "host/trace/typenames.h"

#include <string.h>

#include "host/trace/append.h"
#include "host/trace/cursor.h"
#include "host/trace/reader.h"
#include "host/trace/readerfile.h"

enum { BLOCK_FULL = 1 << 20, NAME_MAX_BYTES = 64 << 10 };

/* ---- writing ---- */

struct job {
	const struct type_name *rows;
	u64 count;
};

static void add_row(struct strbuf *payload, const struct type_name *row, u64 before)
{
	u64 length = strnlen(row->name, NAME_MAX_BYTES);

	varint_add(payload, row->image);
	varint_add(payload, row->module == TYPE_NO_MODULE ? 0 : (u64)row->module + 1);
	varint_add(payload, hw_zigzag((i64)(row->identity - before)));
	varint_add(payload, length);
	strbuf_add_bytes(payload, row->name, length);
}

static int append_block(struct block_file *file, struct strbuf *payload, u32 items, struct err *err)
{
	struct raw_block raw = {.image = HW_NO_IMAGE,
				.type = HW_BLOCK_TYPE_NAMES,
				.payload = (const u8 *)strbuf_text(payload),
				.bytes = payload->count,
				.items = items};

	if (payload->failed)
		return err_memory(err);
	block_file_append(file, &raw);
	strbuf_clear(payload);
	return 0;
}

static int append(struct block_file *file, void *data, struct err *err)
{
	const struct job *job = data;
	struct strbuf payload = {0};
	u64 before = 0;
	u32 items = 0;
	int status = 0;

	for (u64 i = 0; i < job->count && status == 0; i++) {
		add_row(&payload, &job->rows[i], before);
		before = job->rows[i].identity;
		items++;
		if (payload.count < BLOCK_FULL && i + 1 < job->count)
			continue;
		status = append_block(file, &payload, items, err);
		items = 0;
		before = 0;
	}
	strbuf_release(&payload);
	return status;
}

int trace_write_type_names(const char *path, const struct type_name *rows, u64 count,
			   struct err *err)
{
	struct job job = {rows, count};

	return trace_append(path, append, &job, err);
}

/* ---- reading ---- */

/* False if there is no memory. A bad payload ends early. */
static bool load_block(void *data, const u8 *payload, u64 bytes, u32 items)
{
	struct type_names *names = data;
	struct cursor in = {payload, payload + bytes, false};
	u64 identity = 0;

	for (u32 i = 0; i < items; i++) {
		struct type_name row = {.image = cursor_get_u32(&in)};
		u64 module = cursor_get(&in), length;

		row.module = module && module < TYPE_NO_MODULE ? (u32)module - 1 : TYPE_NO_MODULE;
		identity += (u64)hw_unzigzag(cursor_get(&in));
		row.identity = identity;
		length = cursor_get(&in);
		if (in.bad || length > (u64)(in.end - in.at))
			return true;
		row.name = arena_copy_text(&names->arena, (const char *)in.at, length);
		in.at += length;
		if (!row.name || !vec_push(&names->rows, row))
			return false;
	}
	return true;
}

int trace_read_type_names(const char *path, struct type_names *names, struct err *err)
{
	struct trace_reader *reader = trace_open(path, err);
	int status;

	*names = (struct type_names){0};
	if (!reader)
		return ERR_INPUT;
	status = reader_blocks(reader, HW_BLOCK_TYPE_NAMES, load_block, names, err);
	trace_close(reader);
	if (status < 0)
		type_names_release(names);
	return status;
}

void type_names_release(struct type_names *names)
{
	vec_release(&names->rows);
	arena_release(&names->arena);
}
