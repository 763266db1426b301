/* SPDX-License-Identifier: MIT
 * Rows of a memory fact into a payload and back; see memory_rows.h. The first half runs on the
 * monitor's drain thread. The second runs on the host; it never allocates by a length that the
 * payload does not back. */
#include "host/trace/memory_rows.h"

/* ---- writing ---- */

/* How many rows, then the rows. */
static void put_counted(struct strbuf *body, u64 count, struct strbuf *rows)
{
	varint_add(body, count);
	strbuf_add_bytes(body, rows->text, rows->count);
	body->failed |= rows->failed;
	strbuf_release(rows);
}

/* Rows that do not fit are not written: they are damage where they are read. */
static void put_residents(struct strbuf *body, const struct stream_memory *memory)
{
	struct strbuf rows = {0};
	u64 count = 0, end = 0, start = 0;

	for (u64 i = 0; i < memory->count && count < MEMORY_ROWS; i++) {
		const struct stream_resident *row = &memory->rows[i];

		if (!stream_resident_fits(row, end))
			continue;
		varint_add(&rows, row->start - start);
		varint_add(&rows, row->bytes);
		varint_add(&rows, row->bytes - row->resident_bytes);
		varint_add(&rows, row->kind << 1 | row->goes_on);
		start = row->start;
		end = row->start + row->bytes;
		count++;
	}
	put_counted(body, count, &rows);
	varint_add(body, memory->huge_bytes);
}

static void put_cached(struct strbuf *body, const struct stream_memory *memory)
{
	struct strbuf rows = {0};
	u64 count = 0, end = 0, address = 0;

	for (u64 i = 0; i < memory->cached_count && count < MEMORY_ROWS; i++) {
		const struct stream_cached *row = &memory->cached[i];

		if (!stream_cached_fits(row, end))
			continue;
		varint_add(&rows, (row->address - address) / STREAM_CACHED_STEP);
		varint_add(&rows, row->bytes / STREAM_CACHED_STEP);
		varint_add(&rows, row->tid);
		address = row->address;
		end = row->address + row->bytes;
		count++;
	}
	varint_add(body, memory->caches_read);
	varint_add(body, memory->caches_unread);
	put_counted(body, count, &rows);
}

void memory_rows_put(struct strbuf *body, const struct stream_memory *memory)
{
	put_residents(body, memory);
	put_cached(body, memory);
	varint_add(body, memory->why);
	varint_add(body, memory->libc_huge_bytes);
}

/* ---- reading ---- */

static bool get_resident(struct cursor *in, u64 *at, struct stream_resident *row)
{
	u64 absent, kind;

	row->start = *at += cursor_get(in);
	row->bytes = cursor_get(in);
	absent = cursor_get(in);
	kind = cursor_get(in);
	row->resident_bytes = row->bytes - absent;
	row->goes_on = kind & 1;
	row->kind = (u32)(kind >> 1);
	return absent <= row->bytes && kind >> 1 < MEMORY_KINDS;
}

static int get_residents(struct stream_memory *memory, struct cursor *in, struct arena *arena)
{
	struct stream_resident *rows;
	u64 at = 0, end = 0;

	memory->count = cursor_get(in);
	in->bad |= memory->moment > MEMORY_END;
	rows = cursor_rows(in, arena, memory->count, 4, sizeof(*rows));
	if (!rows)
		return in->bad ? 0 : ERR_MEMORY;
	for (u64 i = 0; i < memory->count && !in->bad; i++) {
		in->bad |= !get_resident(in, &at, &rows[i]) || !stream_resident_fits(&rows[i], end);
		end = rows[i].start + rows[i].bytes;
	}
	memory->huge_bytes = in->at < in->end ? cursor_get(in) : 0;
	memory->rows = rows;
	return 0;
}

static bool get_cached_row(struct cursor *in, u64 *at, struct stream_cached *row)
{
	u64 steps = cursor_get(in), size;

	size = cursor_get(in);
	row->tid = cursor_get_u32(in);
	if (steps > (UINT64_MAX - *at) / STREAM_CACHED_STEP ||
	    size > UINT32_MAX / STREAM_CACHED_STEP)
		return false;
	row->address = *at += steps * STREAM_CACHED_STEP;
	row->bytes = (u32)size * STREAM_CACHED_STEP;
	return true;
}

/* Traces of earlier versions end before. */
static int get_cached(struct stream_memory *memory, struct cursor *in, struct arena *arena)
{
	struct stream_cached *rows;
	u64 at = 0, end = 0;

	if (in->at >= in->end)
		return 0;
	memory->caches_read = cursor_get_u32(in);
	memory->caches_unread = cursor_get_u32(in);
	memory->cached_count = cursor_get(in);
	rows = cursor_rows(in, arena, memory->cached_count, 3, sizeof(*rows));
	if (!rows)
		return in->bad ? 0 : ERR_MEMORY;
	for (u64 i = 0; i < memory->cached_count && !in->bad; i++) {
		in->bad |= !get_cached_row(in, &at, &rows[i]) || !stream_cached_fits(&rows[i], end);
		end = rows[i].address + rows[i].bytes;
	}
	memory->cached = rows;
	return 0;
}

int memory_rows_get(struct stream_memory *memory, struct cursor *in, struct arena *arena,
		    struct err *err)
{
	int status = get_residents(memory, in, arena);

	if (status == 0 && !in->bad)
		status = get_cached(memory, in, arena);
	memory->why = in->at < in->end && !in->bad ? cursor_get_u32(in) : MEMORY_UNTOLD;
	if (memory->why >= MEMORY_WHYS)
		memory->why = MEMORY_UNTOLD;
	memory->libc_huge_bytes = in->at < in->end && !in->bad ? cursor_get(in) : 0;
	return status < 0 ? err_memory(err) : 0;
}
