/* SPDX-License-Identifier: MIT
 * Types of debug info into blocks and back. Runs on the host, after the recording. */
#include "host/trace/debugtypes.h"

#include <string.h>

#include "host/trace/append.h"
#include "host/trace/cursor.h"
#include "host/trace/readerfile.h"

enum { BLOCK_FULL = 1 << 20, TEXT_MAX = 64 << 10, BUILD_ID_MAX = 64 };

/* ---- writing ---- */

static void add_text(struct strbuf *payload, const char *text)
{
	bytes_add(payload, text, strnlen(text, TEXT_MAX));
}

static void add_head(struct strbuf *payload, const struct debug_types_file *file)
{
	add_text(payload, file->path);
	bytes_add(payload, file->build_id,
		  file->build_id_bytes <= BUILD_ID_MAX ? file->build_id_bytes : 0);
}

static void add_row(struct strbuf *payload, const struct debug_type *row)
{
	varint_add(payload, row->sort == DEBUG_TYPE_CALL ? 0 : row->rank + 1u);
	varint_add(payload, row->size);
	if (row->sort == DEBUG_TYPE_CALL)
		varint_add(payload, row->address);
	add_text(payload, row->name);
}

/* A file without rows has a block, too: it is known that there are none. */
static int append_file(struct block_file *file, const struct debug_types_file *types,
		       struct err *err)
{
	struct strbuf payload = {0};
	int status = 0;
	u64 at = 0;

	do {
		u64 first = at;

		add_head(&payload, types);
		while (at < types->rows.count && payload.count < BLOCK_FULL)
			add_row(&payload, &types->rows.data[at++]);
		status = append_payload(file, HW_BLOCK_DEBUG_TYPES, &payload, (u32)(at - first),
					err);
	} while (at < types->rows.count && status == 0);
	strbuf_release(&payload);
	return status;
}

static int append(struct block_file *file, const void *files, u64 count, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++)
		status = append_file(file, &((const struct debug_types_file *)files)[i], err);
	return status;
}

int trace_write_debug_types(const char *path, const struct debug_types_file *files, u64 count,
			    struct err *err)
{
	return trace_append(path, append, files, count, err);
}

/* ---- reading ---- */

static bool get_head(struct debug_types *types, struct cursor *in, struct debug_types_file *file)
{
	const u8 *bytes;
	u64 length;
	u8 *id;

	file->path = cursor_text(in, &types->arena);
	bytes = cursor_bytes(in, &length);
	in->bad |= length > BUILD_ID_MAX;
	id = in->bad || !file->path ? NULL : arena_alloc(&types->arena, length + 1);
	if (!id)
		return false;
	memcpy(id, bytes, length);
	file->build_id = id;
	file->build_id_bytes = (u32)length;
	return true;
}

static bool get_row(struct debug_types *types, struct cursor *in, struct debug_type *row)
{
	u64 what = cursor_get(in);

	*row = (struct debug_type){.size = cursor_get(in)};
	row->sort = what ? DEBUG_TYPE_SIZED : DEBUG_TYPE_CALL;
	row->rank = what ? (u8)(what - 1) : 0;
	if (!what)
		row->address = cursor_get(in);
	in->bad |= what > UINT8_MAX + 1u; /* ranks have a byte */
	row->name = cursor_text(in, &types->arena);
	return row->name != NULL;
}

/* The place for the file, made if it is new; NULL without memory. */
static struct debug_types_file *file_at(struct debug_types *types,
					const struct debug_types_file *file)
{
	const struct debug_types_file *known =
		debug_types_find(types, file->path, file->build_id, file->build_id_bytes);

	if (known)
		return &types->files.data[known - types->files.data];
	return vec_push(&types->files, *file) ? &types->files.data[types->files.count - 1] : NULL;
}

/* False if there is no memory. A bad payload ends early. */
static bool load_block(void *data, const struct block *block)
{
	struct debug_types *types = data;
	struct cursor in = block_cursor(block);
	struct debug_types_file head = {0}, *file;
	struct debug_type row;

	if (!get_head(types, &in, &head))
		return in.bad;
	file = file_at(types, &head);
	if (!file)
		return false;
	for (u32 i = 0; i < block->items; i++) {
		if (!get_row(types, &in, &row))
			return in.bad;
		if (!vec_push(&file->rows, row))
			return false;
	}
	return true;
}

int trace_read_debug_types(const char *path, struct debug_types *types, struct err *err)
{
	int status;

	*types = (struct debug_types){0};
	status = trace_blocks(path, HW_BLOCK_DEBUG_TYPES, load_block, types, err);
	if (status < 0)
		debug_types_release(types);
	return status;
}

void debug_types_release(struct debug_types *types)
{
	for (u64 i = 0; i < types->files.count; i++)
		vec_release(&types->files.data[i].rows);
	vec_release(&types->files);
	arena_release(&types->arena);
	*types = (struct debug_types){0};
}

const struct debug_types_file *debug_types_find(const struct debug_types *types, const char *path,
						const u8 *build_id, u32 build_id_bytes)
{
	for (u64 i = 0; types && i < types->files.count; i++) {
		const struct debug_types_file *file = &types->files.data[i];

		if (file->build_id_bytes == build_id_bytes && strcmp(file->path, path) == 0 &&
		    (!build_id_bytes || memcmp(file->build_id, build_id, build_id_bytes) == 0))
			return file;
	}
	return NULL;
}
