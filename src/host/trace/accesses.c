/* SPDX-License-Identifier: MIT
 * Accesses into columns and back. The first half runs on the monitor's drain thread, where want of
 * memory is remembered and asked for once per block; the second on the host, where nothing is
 * allocated by what the payload says. */
#include "host/trace/accesses.h"

#include <string.h>

#include "host/base/bytemap.h"
#include "host/trace/cursor.h"
#include "host/trace/decode.h"
#include "host/trace/guard.h"

enum {
	MAPS_MAX = 4 << 20, /* bytes: a block has room for 16 MiB, of which 7 may be numbers */
};
_Static_assert((int)HW_ACCESS_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");

/* ---- writing ---- */

static void add_pair(struct accesses *self, enum hw_access_column column, u64 first, u64 second)
{
	varint_add(&self->columns.data[column], first);
	varint_add(&self->columns.data[column + 1], second);
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

/* Bits of the head that say what is told of reads and writes apart. */
static u64 sides_head(const struct stream_access *row)
{
	if (!row->sided)
		return 0;
	return HW_ACCESS_SIDED | (row->side_maps[HW_SIDE_READ] ? HW_ACCESS_READ_MAPPED : 0) |
	       (row->side_maps[HW_SIDE_WRITTEN] ? HW_ACCESS_WRITTEN_MAPPED : 0);
}

static void add_sides(struct strbuf *column, const struct stream_access *row)
{
	for (u32 side = 0; side < HW_SIDES; side++) {
		varint_add(column, row->side_bytes[side]);
		if (row->side_maps[side])
			add_map(column, row->side_maps[side]);
	}
}

void accesses_add(struct accesses *self, const struct stream_access *row)
{
	bool timed = row->first_ticks || row->last_ticks, ranged = row->low || row->high;
	bool covered = row->covered_bytes != UINT64_MAX, mapped = covered && row->map;
	u64 sides = covered ? sides_head(row) : 0;

	varint_add(&self->columns.data[HW_ACCESS_COLUMN_CHUNK],
		   hw_zigzag((i64)(row->chunk - self->chunk)));
	varint_add(&self->columns.data[HW_ACCESS_COLUMN_HEAD],
		   (u64)row->flags << HW_ACCESS_FLAGS_SHIFT | (timed ? HW_ACCESS_TIMED : 0) |
			   (ranged ? HW_ACCESS_RANGED : 0) | (covered ? HW_ACCESS_COVERED : 0) |
			   (mapped ? HW_ACCESS_MAPPED : 0) | sides);
	if (timed)
		add_pair(self, HW_ACCESS_COLUMN_FIRST,
			 hw_zigzag((i64)(row->first_ticks - self->ticks)),
			 row->last_ticks - row->first_ticks);
	add_pair(self, HW_ACCESS_COLUMN_READS, row->reads, row->writes);
	add_pair(self, HW_ACCESS_COLUMN_READ_BYTES, row->read_bytes, row->written_bytes);
	if (ranged)
		add_pair(self, HW_ACCESS_COLUMN_LOW, row->low, row->high - row->low);
	if (covered)
		varint_add(&self->columns.data[HW_ACCESS_COLUMN_COVERED], row->covered_bytes);
	if (mapped)
		add_map(&self->columns.data[HW_ACCESS_COLUMN_COVERED], row->map);
	if (sides)
		add_sides(&self->columns.data[HW_ACCESS_COLUMN_COVERED], row);
	self->chunk = row->chunk;
	if (timed)
		self->ticks = row->first_ticks;
	self->columns.items++;
}

bool accesses_full(const struct accesses *self)
{
	return self->columns.items == HW_BLOCK_ACCESSES_MAX ||
	       self->columns.data[HW_ACCESS_COLUMN_COVERED].count > MAPS_MAX;
}

struct parcel *accesses_take(struct accesses *self)
{
	self->chunk = self->ticks = 0;
	return columns_take(&self->columns, HW_ACCESS_COLUMNS);
}

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

struct reading {
	const struct chunk_reading *to;
	struct stream_access row; /* the one before */
	u64 ticks;                /* of the first access of the last one that has any */
	struct stream_access batch[COLUMNS_BATCH];
	u64 maps[COLUMNS_BATCH][HW_MAP_WORDS];
	u64 side_maps[COLUMNS_BATCH][HW_SIDES][HW_MAP_WORDS];
};

static void get_sides(struct reading *self, struct cursor *column, u64 head, u32 at)
{
	static const u64 mapped[HW_SIDES] = {HW_ACCESS_READ_MAPPED, HW_ACCESS_WRITTEN_MAPPED};
	struct stream_access *row = &self->row;

	row->sided = head & HW_ACCESS_SIDED;
	for (u32 side = 0; side < HW_SIDES; side++) {
		row->side_bytes[side] = row->sided ? cursor_get(column) : 0;
		row->side_maps[side] = head & mapped[side] ? self->side_maps[at][side] : NULL;
		if (row->side_maps[side])
			get_map(column, row->side_bytes[side], self->side_maps[at][side]);
		column->bad |= row->side_bytes[side] > row->covered_bytes;
	}
}

/* Sides need the number of all accessed bytes, and their maps the sides. */
static bool head_fits(u64 head)
{
	return head < HW_ACCESS_WRITTEN_MAPPED << 1 &&
	       (head & HW_ACCESS_COVERED || !(head & HW_ACCESS_SIDED)) &&
	       (head & HW_ACCESS_SIDED ||
		!(head & (HW_ACCESS_READ_MAPPED | HW_ACCESS_WRITTEN_MAPPED)));
}

static void get_row(void *self_, struct cursor *columns, u32 at)
{
	struct reading *self = self_;
	struct stream_access *row = &self->row;
	u64 head;

	row->chunk += (u64)hw_unzigzag(cursor_get(&columns[HW_ACCESS_COLUMN_CHUNK]));
	head = cursor_get(&columns[HW_ACCESS_COLUMN_HEAD]);
	row->flags = (u32)(head >> HW_ACCESS_FLAGS_SHIFT);
	columns[HW_ACCESS_COLUMN_HEAD].bad |= !head_fits(head);
	row->first_ticks = row->last_ticks = row->low = row->high = 0;
	if (head & HW_ACCESS_TIMED) {
		self->ticks += (u64)hw_unzigzag(cursor_get(&columns[HW_ACCESS_COLUMN_FIRST]));
		row->first_ticks = self->ticks;
		row->last_ticks = self->ticks + cursor_get(&columns[HW_ACCESS_COLUMN_LAST]);
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
	row->map = head & HW_ACCESS_MAPPED ? self->maps[at] : NULL;
	if (row->map)
		get_map(&columns[HW_ACCESS_COLUMN_COVERED], row->covered_bytes, self->maps[at]);
	get_sides(self, &columns[HW_ACCESS_COLUMN_COVERED], head, at);
	self->batch[at] = *row;
}

/* Chunks as the reader numbers them, without the gaps that damage leaves. */
static int tell_rows(void *self_, u32 count, struct err *err)
{
	struct reading *self = self_;
	const struct chunk_reading *to = self->to;
	u64 kept = 0;

	for (u32 i = 0; i < count; i++) {
		u64 chunk = decoder_chunk(to->decoder, self->batch[i].chunk);

		if (chunk == NO_CHUNK) {
			++*to->lost;
			continue;
		}
		if (kept != i)
			self->batch[kept] = self->batch[i];
		self->batch[kept++].chunk = chunk;
	}
	return kept ? guard_accesses(to->guard, self->batch, kept, err) : 0;
}

int accesses_tell(const struct chunk_reading *to, const struct block *block, struct err *err)
{
	struct reading self;
	const struct columns_reading columns = {HW_ACCESS_COLUMNS, HW_BLOCK_ACCESSES_MAX, get_row,
						tell_rows, &self};

	/* The batch and its maps are written before they are read: no need to clear them for each
	 * block. */
	self.to = to;
	self.row = (struct stream_access){0};
	self.ticks = 0;
	return columns_tell(&columns, block, err);
}
