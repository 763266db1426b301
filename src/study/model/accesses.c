/* SPDX-License-Identifier: MIT
 * Pages of accesses.
 * Host. Nearly all numbers fit into 32 bits; a chunk with one that does not has a row for
 * itself. */
#include "study/model/accesses.h"

#include "host/base/bytemap.h"

enum { CELL_NONE, CELL_NARROW, CELL_WIDE };

struct access_cell {
	u64 first_ticks, last_ticks;
	u32 reads, writes; /* CELL_WIDE: reads is the number of its row */
	u32 read_bytes, written_bytes;
	u32 low, high;
	u32 covered; /* UINT32_MAX = not measured */
	u16 pattern;
	u8 flags;
	u8 state;
};
_Static_assert(sizeof(struct access_cell) == ACCESS_CELL_BYTES, "what a chunk with accesses costs");

static bool fits(const struct chunk_access *access)
{
	u64 all = access->reads | access->writes | access->read_bytes | access->written_bytes |
		  access->low | access->high;

	return all <= UINT32_MAX && access->flags <= UINT8_MAX &&
	       (access->covered < UINT32_MAX || access->covered == UINT64_MAX);
}

static bool put_wide(struct access_table *self, struct access_cell *cell,
		     const struct chunk_access *access)
{
	if (cell->state == CELL_WIDE) {
		self->wide.data[cell->reads] = *access;
		return true;
	}
	if (self->wide.count > UINT32_MAX || !vec_push(&self->wide, *access))
		return false;
	*cell = (struct access_cell){.reads = (u32)(self->wide.count - 1), .state = CELL_WIDE};
	return true;
}

bool access_table_put(struct access_table *self, u64 chunk, const struct chunk_access *access)
{
	struct access_cell *cell = cell_make(&self->cells, chunk, sizeof *cell);
	struct chunk_access known = *access;
	bool fresh;

	if (!cell)
		return false;
	known.known = true;
	fresh = cell->state == CELL_NONE;
	/* a wide one stays wide: its row is there */
	if (cell->state == CELL_WIDE || !fits(&known)) {
		if (!put_wide(self, cell, &known))
			return false;
	} else {
		*cell = (struct access_cell){.first_ticks = known.first_ticks,
					     .last_ticks = known.last_ticks,
					     .reads = (u32)known.reads,
					     .writes = (u32)known.writes,
					     .read_bytes = (u32)known.read_bytes,
					     .written_bytes = (u32)known.written_bytes,
					     .low = (u32)known.low,
					     .high = (u32)known.high,
					     .covered = (u32)known.covered,
					     .pattern = known.pattern,
					     .flags = (u8)known.flags,
					     .state = CELL_NARROW};
	}
	self->count += fresh;
	return true;
}

bool access_table_get(const struct access_table *self, u64 chunk, struct chunk_access *access)
{
	const struct access_cell *cell = cell_find(&self->cells, chunk, sizeof *cell);

	*access = (struct chunk_access){0};
	if (!cell || cell->state == CELL_NONE)
		return false;
	if (cell->state == CELL_WIDE) {
		if (cell->reads >= self->wide.count)
			return false; /* an index may say anything: see study/model/index.h */
		*access = self->wide.data[cell->reads];
		return true;
	}
	*access = (struct chunk_access){.first_ticks = cell->first_ticks,
					.last_ticks =
						cell->flags & ACCESS_LATER ? 0 : cell->last_ticks,
					.reads = cell->reads,
					.writes = cell->writes,
					.read_bytes = cell->read_bytes,
					.written_bytes = cell->written_bytes,
					.low = cell->low,
					.high = cell->high,
					.covered = cell->covered == UINT32_MAX ? UINT64_MAX
									       : cell->covered,
					.pattern = cell->pattern,
					.flags = cell->flags,
					.known = true};
	return true;
}

void point_map_add(struct point_map *self, u64 size, const struct stream_access *row, bool again)
{
	if (!self->chunks)
		self->size = size <= HW_MAP_BYTES ? size : 0;
	self->chunks += !again;
	if (self->size != size || row->high > size) {
		self->size = 0;
	} else if (row->map) {
		for (u32 i = 0; i < HW_MAP_WORDS; i++)
			self->words[i] |= row->map[i];
	} else if (hw_access_has_gaps(row->low, row->high, row->covered_bytes)) {
		self->size = 0;
	} else if (row->covered_bytes) {
		bytemap_set(self->words, row->low, row->high);
	}
}

void point_map_merge(struct point_map *self, const struct point_map *other)
{
	self->chunks += other->chunks;
	if (self->size != other->size)
		self->size = 0;
	for (u32 i = 0; i < HW_MAP_WORDS; i++)
		self->words[i] |= other->words[i];
}

void access_table_release(struct access_table *self)
{
	cell_pages_release(&self->cells);
	vec_release(&self->wide);
	self->count = 0;
}
