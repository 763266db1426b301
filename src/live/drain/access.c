/* SPDX-License-Identifier: MIT
 * Parts and rows of accesses; see access.h. Runs on the drain thread. What comes from a ring may be
 * anything: a block whose parts do not fit together is given up, not guessed. */
#include "live/drain/access.h"

#include <string.h>

#include "host/base/bytemap.h"
#include "live/drain/told.h"

enum {
	LOOSE_MAX = 1 << 16,
	/* How far a free looks back for its row: no more than a thread's own, and those of other
	 * threads that came between. */
	LOOSE_LOOK = 256,
	FLAGS = HW_ACCESS_SHARED | HW_ACCESS_SATURATED | HW_ACCESS_ESTIMATED |
		HW_ACCESS_LOWER_BOUND | HW_ACCESS_LATER | HW_ACCESS_UNSIDED,
};

_Static_assert((int)HW_ACCESS_SHARED == (int)ACCESS_SHARED &&
		       (int)HW_ACCESS_SATURATED == (int)ACCESS_SATURATED &&
		       (int)HW_ACCESS_ESTIMATED == (int)ACCESS_ESTIMATED &&
		       (int)HW_ACCESS_LOWER_BOUND == (int)ACCESS_LOWER_BOUND &&
		       (int)HW_ACCESS_LATER == (int)ACCESS_LATER &&
		       (int)HW_ACCESS_UNSIDED == (int)ACCESS_UNSIDED,
	       "flags are passed on as they are");
_Static_assert((int)HW_ACCESS_EXACT == (int)ACCESS_EXACT &&
		       (int)HW_ACCESS_ADAPTIVE == (int)ACCESS_ADAPTIVE &&
		       (int)HW_ACCESS_VALGRIND == (int)ACCESS_VALGRIND,
	       "and so is the mode");

/* ---- parts ----------------------------------------------------------------------------------- */

static enum access_step gather_give_up(struct access_gather *self)
{
	self->address = 0;
	return ACCESS_DAMAGED;
}

static enum access_step gather_begin(struct access_gather *self, const struct hw_record *record)
{
	bool interrupted = self->address != 0;

	*self = (struct access_gather){
		.row = {.covered_bytes = UINT64_MAX, .flags = (u32)record->size},
		.address = record->address,
		.parts = 1 << HW_ACCESS_BLOCK,
	};
	if (record->size & ~(u64)FLAGS)
		return gather_give_up(self);
	return interrupted || !record->address ? ACCESS_DAMAGED : ACCESS_MORE;
}

/* False if the numbers cannot be. */
static bool gather_take(struct stream_access *row, const struct hw_record *record)
{
	u64 first = record->address, second = record->size;

	switch (record->aux) {
	case HW_ACCESS_TIMES:
		row->first_ticks = first;
		row->last_ticks = second;
		return first <= second && !first == !second;
	case HW_ACCESS_COUNTS:
		row->reads = first;
		row->writes = second;
		return true;
	case HW_ACCESS_BYTES:
		row->read_bytes = first;
		row->written_bytes = second;
		return true;
	case HW_ACCESS_RANGE:
		row->low = first;
		row->high = second;
		return first <= second;
	case HW_ACCESS_COVERAGE:
		row->covered_bytes = first;
		return second != 0 && first != UINT64_MAX;
	case HW_ACCESS_SIDES:
		row->side_bytes[HW_SIDE_READ] = first;
		row->side_bytes[HW_SIDE_WRITTEN] = second;
		row->sided = true;
		return true;
	}
	return false;
}

/* Two words of a map, the part-th two. */
static const u64 *take_words(u64 *map, u32 part, const struct hw_record *record)
{
	map[2 * part] = record->address;
	map[2 * part + 1] = record->size;
	return map;
}

/* False if the part is none of a map. */
static bool gather_take_map(struct access_gather *self, const struct hw_record *record)
{
	u32 part = record->aux;

	if (part >= HW_ACCESS_MAP && part < HW_ACCESS_MAP + HW_MAP_PARTS) {
		self->row.map = take_words(self->map, part - HW_ACCESS_MAP, record);
		return true;
	}
	for (u32 side = 0; side < HW_SIDES; side++) {
		u32 first = side == HW_SIDE_READ ? HW_ACCESS_READ_MAP : HW_ACCESS_WRITTEN_MAP;

		if (part < first || part >= first + HW_MAP_PARTS)
			continue;
		self->row.side_maps[side] = take_words(self->side_maps[side], part - first, record);
		return true;
	}
	return false;
}

/* A map says of as many bytes that they were accessed as the coverage does, of all and of one side;
 * and an accessed byte was read or written. */
static bool gather_fits(const struct access_gather *self)
{
	const struct stream_access *row = &self->row;

	if (row->map && bytemap_count(row->map, HW_MAP_BYTES) != row->covered_bytes)
		return false;
	for (u32 side = 0; side < HW_SIDES; side++) {
		if (row->side_maps[side] &&
		    bytemap_count(row->side_maps[side], HW_MAP_BYTES) != row->side_bytes[side])
			return false;
		if (row->side_bytes[side] > row->covered_bytes)
			return false;
	}
	return !row->sided || (row->covered_bytes != UINT64_MAX &&
			       row->side_bytes[HW_SIDE_READ] + row->side_bytes[HW_SIDE_WRITTEN] >=
				       row->covered_bytes);
}

enum access_step access_gather_part(struct access_gather *self, const struct hw_record *record)
{
	u32 bit = record->aux < 32 ? 1u << record->aux : 0;

	if (record->aux == HW_ACCESS_BLOCK)
		return gather_begin(self, record);
	if (!self->address)
		return ACCESS_DAMAGED;
	if (record->aux == HW_ACCESS_END) {
		if (record->address != self->address || !gather_fits(self))
			return gather_give_up(self);
		self->address = 0;
		return ACCESS_WHOLE;
	}
	if (!bit || self->parts & bit ||
	    (!gather_take_map(self, record) && !gather_take(&self->row, record)))
		return gather_give_up(self);
	self->parts |= bit;
	return ACCESS_MORE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void access_rows_release(struct access_rows *self)
{
	vec_release(&self->given);
	vec_release(&self->out);
	vec_release(&self->loose);
	vec_release(&self->held);
	arena_release(&self->maps);
	self->free_maps = NULL;
}

static struct access_maps *maps_new(struct access_rows *self)
{
	struct access_maps *maps = self->free_maps;

	if (!maps)
		return arena_new(&self->maps, struct access_maps);
	self->free_maps = maps->next_free;
	return maps;
}

static bool has_maps(const struct stream_access *row)
{
	return row->map || row->side_maps[HW_SIDE_READ] || row->side_maps[HW_SIDE_WRITTEN];
}

static const u64 *copy_map(u64 *to, const u64 *from)
{
	return from ? memcpy(to, from, HW_MAP_WORDS * sizeof(*to)) : NULL;
}

bool access_rows_give(struct access_rows *self, const struct stream_access *row)
{
	struct stream_access own = *row;

	if (has_maps(row)) {
		struct access_maps *maps = maps_new(self);

		if (!maps)
			return false;
		own.map = copy_map(maps->all, row->map);
		for (u32 side = 0; side < HW_SIDES; side++)
			own.side_maps[side] = copy_map(maps->sides[side], row->side_maps[side]);
	}
	return vec_push(&self->given, own);
}

/* Those that a row was given; any of its maps leads there. */
static struct access_maps *maps_of(const struct stream_access *row)
{
	u64 words = 0;
	const u64 *map = row->map;

	for (u32 side = 0; side < HW_SIDES && !map; side++) {
		map = row->side_maps[side];
		words = (u64)(side + 1) * HW_MAP_WORDS;
	}
	return map ? (struct access_maps *)(uintptr_t)(map - words) : NULL;
}

void access_rows_drop(struct access_rows *self, const struct stream_access *row)
{
	struct access_maps *maps = maps_of(row);

	if (!maps)
		return;
	maps->next_free = self->free_maps;
	self->free_maps = maps;
}

void access_rows_told(struct access_rows *self)
{
	for (u64 i = 0; i < self->out.count; i++)
		access_rows_drop(self, &self->out.data[i]);
	vec_clear(&self->out);
}

struct stream_access *access_rows_take(struct access_rows *self)
{
	struct stream_access *row;

	if (self->given_next == self->given.count)
		return NULL;
	row = &self->given.data[self->given_next++];
	if (self->given_next == self->given.count) {
		vec_clear(&self->given); /* the row stays where it is until the next one is given */
		self->given_next = 0;
	}
	return row;
}

static bool is_nested(const struct told_record *told)
{
	return told->record.flags & HW_RECORD_NESTED;
}

bool access_rows_loosen(struct access_rows *self, const struct told_record *told,
			const struct stream_access *row)
{
	struct access_loose loose = {
		.row = *row,
		.address = told->record.address,
		.thread = told->thread,
		.nested = is_nested(told),
	};

	if (self->loose.count >= LOOSE_MAX) {
		access_rows_drop(self, row);
		self->unknown++;
		return true;
	}
	return vec_push(&self->loose, loose);
}

/* Number of the row, of those that came last; loose.count = none. */
static u64 loose_find(const struct access_rows *self, const struct told_record *death)
{
	u64 count = self->loose.count, oldest = count > LOOSE_LOOK ? count - LOOSE_LOOK : 0;

	for (u64 i = count; i-- > oldest;) {
		const struct access_loose *loose = &self->loose.data[i];

		if (loose->address == death->record.address && loose->thread == death->thread &&
		    loose->nested == is_nested(death))
			return i;
	}
	return count;
}

/* Number of a free place, or held.count without memory. */
static u64 held_place(struct access_rows *self)
{
	u64 place = self->held.count;

	if (self->free_held) {
		place = self->free_held - 1;
		self->free_held = self->held.data[place].next_free;
		return place;
	}
	return vec_push(&self->held, (struct access_held){0}) ? place : self->held.count;
}

u64 access_rows_hold(struct access_rows *self, const struct told_record *death)
{
	u64 at = self->loose.count ? loose_find(self, death) : 0, place;
	struct stream_access row;

	if (at == self->loose.count)
		return 0;
	row = self->loose.data[at].row;
	memmove(&self->loose.data[at], &self->loose.data[at + 1],
		(self->loose.count - at - 1) * sizeof(self->loose.data[0]));
	self->loose.count--;
	place = held_place(self);
	if (place == self->held.count) {
		access_rows_drop(self, &row);
		self->unknown++;
		return 0;
	}
	self->held.data[place].row = row;
	return place + 1;
}

struct stream_access access_rows_release_held(struct access_rows *self, u64 number)
{
	struct access_held *held = &self->held.data[number - 1];

	held->next_free = self->free_held;
	self->free_held = number;
	return held->row;
}
