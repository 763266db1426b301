/* SPDX-License-Identifier: MIT
 * Accesses into columns and back. The first half runs on the monitor's drain thread, where want of
 * memory is remembered and asked for once per block; the second on the host, where nothing is
 * allocated by what the payload says. */
#include "trace/accesses.h"

#include <string.h>

#include "base/bytemap.h"
#include "trace/columns.h"
#include "trace/cursor.h"
#include "trace/decode.h"

enum {
	ROW_BATCH = 256,
	MAPS_MAX = 4 << 20, /* bytes: a block has room for 16 MiB, of which 7 may be numbers */
};

/* ---- writing ---- */

static void add_pair(struct accesses *self, enum hw_access_column column, u64 first, u64 second)
{
	varint_add(&self->columns[column], first);
	varint_add(&self->columns[column + 1], second);
}

/* Number of its runs of accessed bytes, and for each how many before it were not, and its own. */
static void add_map(struct strbuf *column, const u64 *map)
{
	u64 runs = 0, next = 0, at;

	while ((at = bytemap_next(map, next, HW_MAP_BYTES, true)) < HW_MAP_BYTES) {
		next = bytemap_next(map, at, HW_MAP_BYTES, false);
		runs++;
	}
	varint_add(column, runs);
	next = 0;
	while ((at = bytemap_next(map, next, HW_MAP_BYTES, true)) < HW_MAP_BYTES) {
		varint_add(column, at - next);
		next = bytemap_next(map, at, HW_MAP_BYTES, false);
		varint_add(column, next - at);
	}
}

void accesses_add(struct accesses *self, const struct stream_access *row)
{
	bool timed = row->first_ticks || row->last_ticks, ranged = row->low || row->high;
	bool covered = row->covered_bytes != UINT64_MAX, mapped = covered && row->map;

	varint_add(&self->columns[HW_ACCESS_COLUMN_CHUNK],
		   hw_zigzag((i64)(row->chunk - self->chunk)));
	varint_add(&self->columns[HW_ACCESS_COLUMN_HEAD],
		   (u64)row->flags << HW_ACCESS_FLAGS_SHIFT | (timed ? HW_ACCESS_TIMED : 0) |
			   (ranged ? HW_ACCESS_RANGED : 0) | (covered ? HW_ACCESS_COVERED : 0) |
			   (mapped ? HW_ACCESS_MAPPED : 0));
	if (timed)
		add_pair(self, HW_ACCESS_COLUMN_FIRST,
			 hw_zigzag((i64)(row->first_ticks - self->ticks)),
			 row->last_ticks - row->first_ticks);
	add_pair(self, HW_ACCESS_COLUMN_READS, row->reads, row->writes);
	add_pair(self, HW_ACCESS_COLUMN_READ_BYTES, row->read_bytes, row->written_bytes);
	if (ranged)
		add_pair(self, HW_ACCESS_COLUMN_LOW, row->low, row->high - row->low);
	if (covered)
		varint_add(&self->columns[HW_ACCESS_COLUMN_COVERED], row->covered_bytes);
	if (mapped)
		add_map(&self->columns[HW_ACCESS_COLUMN_COVERED], row->map);
	self->chunk = row->chunk;
	if (timed)
		self->ticks = row->first_ticks;
	self->items++;
}

bool accesses_full(const struct accesses *self)
{
	return self->items == HW_BLOCK_ACCESSES_MAX ||
	       self->columns[HW_ACCESS_COLUMN_COVERED].count > MAPS_MAX;
}

u64 accesses_bytes(const struct accesses *self, u32 part_bytes[ACCESSES_PARTS])
{
	return columns_bytes(self->columns, HW_ACCESS_COLUMNS, part_bytes);
}

void accesses_finish(struct accesses *self, u8 *out)
{
	columns_finish(self->columns, HW_ACCESS_COLUMNS, out);
	self->chunk = self->ticks = 0;
	self->items = 0;
}

bool accesses_failed(const struct accesses *self) { return columns_failed(self->columns, HW_ACCESS_COLUMNS); }

void accesses_release(struct accesses *self) { columns_release(self->columns, HW_ACCESS_COLUMNS); }

/* ---- reading ---- */

static void get_map(struct cursor *column, u64 covered, u64 map[HW_MAP_WORDS])
{
	u64 runs = cursor_get(column), at = 0, sum = 0;

	memset(map, 0, HW_MAP_WORDS * sizeof(*map));
	for (u64 i = 0; i < runs && !column->bad; i++) {
		u64 gap = cursor_get(column), run = cursor_get(column);

		column->bad |= !run || gap > HW_MAP_BYTES - at || run > HW_MAP_BYTES - at - gap;
		if (column->bad)
			return;
		bytemap_set(map, at + gap, at + gap + run);
		at += gap + run;
		sum += run;
	}
	column->bad |= sum != covered;
}

/* The row before is in *row. */
static void get_row(struct cursor columns[HW_ACCESS_COLUMNS], struct stream_access *row, u64 *ticks,
		    u64 map[HW_MAP_WORDS])
{
	u64 head, flags;

	row->chunk += (u64)hw_unzigzag(cursor_get(&columns[HW_ACCESS_COLUMN_CHUNK]));
	head = cursor_get(&columns[HW_ACCESS_COLUMN_HEAD]);
	flags = (head & ~HW_ACCESS_MAPPED) >> HW_ACCESS_FLAGS_SHIFT;
	row->flags = (u32)flags;
	columns[HW_ACCESS_COLUMN_HEAD].bad |= flags > UINT32_MAX;
	row->first_ticks = row->last_ticks = row->low = row->high = 0;
	if (head & HW_ACCESS_TIMED) {
		*ticks += (u64)hw_unzigzag(cursor_get(&columns[HW_ACCESS_COLUMN_FIRST]));
		row->first_ticks = *ticks;
		row->last_ticks = *ticks + cursor_get(&columns[HW_ACCESS_COLUMN_LAST]);
	}
	row->reads = cursor_get(&columns[HW_ACCESS_COLUMN_READS]);
	row->writes = cursor_get(&columns[HW_ACCESS_COLUMN_WRITES]);
	row->read_bytes = cursor_get(&columns[HW_ACCESS_COLUMN_READ_BYTES]);
	row->written_bytes = cursor_get(&columns[HW_ACCESS_COLUMN_WRITTEN_BYTES]);
	if (head & HW_ACCESS_RANGED) {
		row->low = cursor_get(&columns[HW_ACCESS_COLUMN_LOW]);
		row->high = row->low + cursor_get(&columns[HW_ACCESS_COLUMN_HIGH]);
	}
	row->covered_bytes = head & HW_ACCESS_COVERED
				     ? cursor_get(&columns[HW_ACCESS_COLUMN_COVERED])
				     : UINT64_MAX;
	row->map = head & HW_ACCESS_MAPPED ? map : NULL;
	if (row->map)
		get_map(&columns[HW_ACCESS_COLUMN_COVERED], row->covered_bytes, map);
}

/* Chunks as the reader numbers them, without the gaps that damage leaves. */
static int tell_rows(const struct accesses_reading *to, struct stream_access *rows, u64 count,
		     struct err *err)
{
	u64 kept = 0;

	for (u64 i = 0; i < count; i++) {
		struct stream_access row = rows[i];

		row.chunk = decoder_chunk(to->decoder, row.chunk);
		if (row.chunk == NO_CHUNK)
			++*to->lost;
		else
			rows[kept++] = row;
	}
	return kept && to->sink->accesses ? to->sink->accesses(to->sink->self, rows, kept, err) : 0;
}

static bool at_end(const struct cursor columns[HW_ACCESS_COLUMNS])
{
	for (u32 i = 0; i < HW_ACCESS_COLUMNS; i++)
		if (columns[i].at != columns[i].end)
			return false;
	return true;
}

int accesses_tell(const struct accesses_reading *to, const u8 *payload, u64 bytes, u32 items,
		  struct err *err)
{
	struct cursor in = {payload, payload + bytes, false}, columns[HW_ACCESS_COLUMNS];
	struct stream_access batch[ROW_BATCH], row = {0};
	u64 maps[ROW_BATCH][HW_MAP_WORDS];
	u64 count = 0, ticks = 0;
	int status = 0;

	if (items > HW_BLOCK_ACCESSES_MAX || !cursor_split(&in, columns, HW_ACCESS_COLUMNS))
		return BLOCK_CONTENT;
	for (u32 i = 0; i < items && status == 0; i++) {
		get_row(columns, &row, &ticks, maps[count]);
		if (cursors_bad(columns, HW_ACCESS_COLUMNS)) {
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
