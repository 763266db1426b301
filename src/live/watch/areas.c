/* SPDX-License-Identifier: MIT
 * The table of live areas; see areas.h. Runs on the drain thread. */
#include "live/watch/areas.h"

#include <stdlib.h>
#include <string.h>

#include "format/shadow.h"

enum { SLAB = 512, FLOOD_SLACK_NS = 5000000 };

/* ---- memory ---------------------------------------------------------------------------------- */

/* The first word of what is free leads to the next. */
static void slab_give(void **free_list, void *item)
{
	*(void **)item = *free_list;
	*free_list = item;
}

/* All zero; NULL without memory. */
static void *slab_take(struct areas *self, void **free_list, size_t bytes)
{
	void *item;

	if (!*free_list) {
		u8 *slab = malloc(SLAB * bytes);

		if (!slab || !vec_push(&self->slabs, (void *)slab)) {
			free(slab);
			return NULL;
		}
		for (u32 i = 0; i < SLAB; i++)
			slab_give(free_list, slab + i * bytes);
	}
	item = *free_list;
	*free_list = *(void **)item;
	return memset(item, 0, bytes);
}

void areas_release(struct areas *self)
{
	for (u64 i = 0; i < self->units.count; i++)
		free(self->units.data[i]->places);
	for (u64 i = 0; i < self->slabs.count; i++)
		free(self->slabs.data[i]);
	vec_release(&self->slabs);
	vec_release(&self->list);
	vec_release(&self->units);
	vec_release(&self->touched);
	vec_release(&self->points);
	map_release(&self->others);
	map_release(&self->by_unit);
	memset(self, 0, sizeof(*self));
}

void areas_reset(struct areas *self, u64 start_ticks, u64 start_ns)
{
	areas_release(self);
	self->start_ticks = start_ticks;
	self->start_ns = start_ns;
	self->ns_per_tick = 1;
}

/* ---- time ------------------------------------------------------------------------------------ */

void areas_set_clock(struct areas *self, u64 ticks, u64 ns)
{
	if (ticks > self->start_ticks && ns > self->start_ns)
		self->ns_per_tick =
			(double)(ns - self->start_ns) / (double)(ticks - self->start_ticks);
}

u64 areas_ns(const struct areas *self, u64 ticks)
{
	if (ticks <= self->start_ticks)
		return self->start_ns;
	return self->start_ns + (u64)((double)(ticks - self->start_ticks) * self->ns_per_tick);
}

u64 unit_watched(const struct unit *unit, u64 now_ns)
{
	u64 now = unit->armed && now_ns > unit->armed_ns ? now_ns - unit->armed_ns : 0;

	return unit->watched_ns + now;
}

u64 area_idle(const struct area *area, u64 now_ns)
{
	const struct unit *unit = area->unit;
	u64 since;

	if (!unit || !unit->armed)
		return 0;
	since = unit->armed_ns > area->seen_ns ? unit->armed_ns : area->seen_ns;
	return now_ns > since ? now_ns - since : 0;
}

u64 area_age(const struct area *area, u64 now_ns)
{
	return now_ns > area->seen_ns ? now_ns - area->seen_ns : 0;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* The slots of the heap's size class that has the address; see target/access/heap/classes.c. */
static u64 slot_bytes(u64 address)
{
	u32 class = (u32)((address - HW_HEAP_START) >> 36),
	    bits = class < 4 ? 0 : 6 + (class - 4) / 4;

	return class < 4 ? 16 * (class + 1)
			 : (1ull << bits) + ((u64)((class - 4) % 4 + 1) << (bits - 2));
}

/* The unit that begins there; NULL if there is none. Both small areas' and large ones' begin with
 * the page of the area's start. */
static struct unit *unit_find(const struct areas *self, u64 start)
{
	u64 near = start / HW_UNIT_PAGE % AREAS_NEAR;
	const u64 *found;

	if (likely(self->near[near].unit && self->near[near].start == start))
		return self->near[near].unit;
	found = map_find(&self->by_unit, start);
	return found ? (struct unit *)*found : NULL;
}

static void unit_remember(struct areas *self, struct unit *unit)
{
	u64 near = unit->start / HW_UNIT_PAGE % AREAS_NEAR;

	self->near[near].start = unit->start;
	self->near[near].unit = unit;
}

static bool unit_begin(struct areas *self, struct unit *unit, const struct area *area)
{
	u64 bytes = slot_bytes(area->address);

	unit->start = area->address & ~(u64)(HW_UNIT_PAGE - 1);
	unit->index = (u32)self->units.count;
	unit->seen_ns = unit->since_ns = area->birth_ns;
	if (bytes < HW_UNIT_PAGE)
		unit->places = calloc(HW_UNIT_PAGE / bytes + 1, sizeof(*unit->places));
	return (bytes >= HW_UNIT_PAGE || unit->places) &&
	       map_put(&self->by_unit, unit->start, (u64)unit) && vec_push(&self->units, unit);
}

static struct unit *unit_of(struct areas *self, const struct area *area)
{
	struct unit *unit;

	if (area->address - HW_HEAP_START >= HW_HEAP_BYTES)
		return NULL;
	unit = unit_find(self, area->address & ~(u64)(HW_UNIT_PAGE - 1));
	if (!unit) {
		unit = slab_take(self, &self->free_units, sizeof(*unit));
		if (!unit)
			return NULL;
		if (!unit_begin(self, unit, area)) {
			map_remove(&self->by_unit, unit->start, NULL);
			free(unit->places);
			slab_give(&self->free_units, unit);
			return NULL;
		}
	}
	unit_remember(self, unit);
	return unit;
}

/* Where the area that begins there is to be found. */
static struct area **unit_place(struct unit *unit, u64 address)
{
	return unit->places
		       ? &unit->places[(u32)(address % HW_UNIT_PAGE) / (u32)slot_bytes(address)]
		       : &unit->first;
}

static void unit_free(struct areas *self, struct unit *unit)
{
	struct unit *last = self->units.data[--self->units.count];

	self->units.data[unit->index] = last;
	last->index = unit->index;
	map_remove(&self->by_unit, unit->start, NULL);
	self->near[unit->start / HW_UNIT_PAGE % AREAS_NEAR].unit = NULL;
	free(unit->places);
	slab_give(&self->free_units, unit);
}

static void unit_join(struct areas *self, struct unit *unit, struct area *area)
{
	area->unit = unit;
	area->next = unit->first;
	if (area->next)
		area->next->before = area;
	unit->first = area;
	*unit_place(unit, area->address) = area;
	unit->areas++;
	unit->bytes += area->size;
	if (unit->armed) {
		self->armed_areas++;
		self->armed_bytes += area->size;
	}
}

static void unit_leave(struct areas *self, struct area *area)
{
	struct unit *unit = area->unit;

	if (unit->places)
		*unit_place(unit, area->address) = NULL;
	if (area->before)
		area->before->next = area->next;
	else
		unit->first = area->next;
	if (area->next)
		area->next->before = area->before;
	unit->areas--;
	unit->bytes -= area->size;
	if (unit->armed) {
		self->armed_areas--;
		self->armed_bytes -= area->size;
	}
}

void areas_armed(struct areas *self, struct unit *unit, u64 since_ns)
{
	if (unit->armed || since_ns <= unit->seen_ns || since_ns <= unit->opened_ns ||
	    since_ns <= self->flooded_ns)
		return;
	unit->armed = true;
	unit->armed_ns = since_ns;
	self->armed_units++;
	self->armed_areas += unit->areas;
	self->armed_bytes += unit->bytes;
}

void areas_opened(struct areas *self, struct unit *unit, u64 at_ns)
{
	if (at_ns > unit->opened_ns)
		unit->opened_ns = at_ns;
	if (!unit->armed)
		return;
	unit->watched_ns = unit_watched(unit, at_ns);
	unit->armed = false;
	self->armed_units--;
	self->armed_areas -= unit->areas;
	self->armed_bytes -= unit->bytes;
}

void areas_moved(struct areas *self, const struct area *area, u64 ticks)
{
	if (area->unit)
		areas_opened(self, area->unit, areas_ns(self, ticks));
}

/* The clock's rate is known better as time goes by: what was armed at about that time counts as
 * open, too. It is armed again, which does no harm. */
void areas_flooded(struct areas *self, u64 at_ns)
{
	self->flooded_ns = at_ns + FLOOD_SLACK_NS;
	for (u64 i = 0; i < self->units.count; i++)
		if (self->units.data[i]->armed && self->units.data[i]->armed_ns <= self->flooded_ns)
			areas_opened(self, self->units.data[i], at_ns);
}

/* ---- areas ----------------------------------------------------------------------------------- */

struct area *areas_find(const struct areas *self, u64 address)
{
	struct unit *unit = unit_find(self, address & ~(u64)(HW_UNIT_PAGE - 1));
	struct area *area = unit ? *unit_place(unit, address) : NULL;
	const u64 *found;

	if (area && area->address == address)
		return area;
	found = map_count(&self->others) ? map_find(&self->others, address) : NULL;
	return found ? (struct area *)*found : NULL;
}

/* What was in the place of a new area has ended unseen. */
static void place_clear(struct areas *self, u64 address)
{
	struct unit *unit = unit_find(self, address & ~(u64)(HW_UNIT_PAGE - 1));
	struct area *area = unit ? *unit_place(unit, address) : areas_find(self, address);
	bool ended;

	if (area)
		areas_remove(self, area, &ended);
}

static u64 *size_count(struct areas *self, u64 size)
{
	u32 bin = size ? 63 - (u32)__builtin_clzll(size) : 0;

	return &self->sizes[bin < AREAS_SIZES ? bin : AREAS_SIZES - 1];
}

static void point_add(struct areas *self, const struct area *area)
{
	struct areas_point *point = &self->points.data[area->context];

	point->areas++;
	point->bytes += area->size;
	++*size_count(self, area->size);
	self->live_bytes += area->size;
}

static void point_take(struct areas *self, const struct area *area)
{
	struct areas_point *point = &self->points.data[area->context];

	point->areas--;
	point->bytes -= area->size;
	point->hits -= area->hits;
	--*size_count(self, area->size);
	self->live_bytes -= area->size;
}

/* A slot that begins to hold a chunk was opened for it. */
struct area *areas_add(struct areas *self, const struct event *event)
{
	struct area *area;

	place_clear(self, event->address);
	if (!vec_extend(&self->points, (u64)event->context + 1))
		return NULL;
	area = slab_take(self, &self->free_areas, sizeof(struct area));
	if (!area || !vec_push(&self->list, area))
		return NULL;
	area->address = event->address;
	area->size = event->size;
	area->chunk = event->chunk;
	area->birth_ticks = event->ticks;
	area->birth_ns = area->seen_ns = areas_ns(self, event->ticks);
	area->context = event->context;
	area->thread = event->thread;
	area->index = (u32)(self->list.count - 1);
	point_add(self, area);
	area->unit = unit_of(self, area);
	if (!area->unit)
		return map_put(&self->others, area->address, (u64)area) ? area : NULL;
	area->unit->reopened += area->unit->armed;
	areas_opened(self, area->unit, area->birth_ns);
	area->unit->seen_ns = area->birth_ns;
	if (area->birth_ns > area->unit->last_ns)
		area->unit->last_ns = area->birth_ns;
	unit_join(self, area->unit, area);
	return area;
}

static void touched_take(struct areas *self, const struct area *area)
{
	struct area *last = self->touched.data[--self->touched.count];

	self->touched.data[area->touched - 1] = last;
	last->touched = area->touched;
}

void areas_remove(struct areas *self, struct area *area, bool *unit_ended)
{
	struct area *last = self->list.data[--self->list.count];
	struct unit *unit = area->unit;

	*unit_ended = false;
	self->list.data[area->index] = last;
	last->index = area->index;
	point_take(self, area);
	if (area->touched)
		touched_take(self, area);
	if (!unit)
		map_remove(&self->others, area->address, NULL);
	if (unit) {
		unit_leave(self, area);
		*unit_ended = !unit->areas && (unit->armed || unit->asked);
		if (!unit->areas) {
			if (unit->armed)
				self->armed_units--;
			unit_free(self, unit);
		}
	}
	slab_give(&self->free_areas, area);
}

struct unit *areas_unit_at(const struct areas *self, u64 address)
{
	struct unit *unit = unit_find(self, address & ~(u64)(HW_UNIT_PAGE - 1));
	struct area *area;

	if (unit)
		return unit;
	area = areas_at(self, address);
	return area ? area->unit : NULL;
}

/* A large area begins with a page; how far back that is nobody tells, so its class's slots are
 * tried: they are whole pages, and no two sizes of slots are in one region. */
static struct area *large_at(const struct areas *self, u64 address)
{
	u64 region = address - ((address - HW_HEAP_START) & ((1ull << 36) - 1)),
	    slot = slot_bytes(address);

	return areas_find(self, region + (address - region) / slot * slot);
}

struct area *areas_at(const struct areas *self, u64 address)
{
	const struct unit *unit = unit_find(self, address & ~(u64)(HW_UNIT_PAGE - 1));
	struct area *area = unit ? unit->first : NULL;

	for (; area; area = area->next)
		if (address - area->address < area->size)
			return area;
	if (address - HW_HEAP_START >= HW_HEAP_BYTES)
		return NULL;
	area = large_at(self, address);
	return area && address - area->address < area->size ? area : NULL;
}

struct area *areas_hit(struct areas *self, const struct tap_hit *hit)
{
	struct unit *unit = areas_unit_at(self, hit->address);
	struct area *area = areas_at(self, hit->address);
	u64 now = areas_ns(self, hit->ticks);

	if (!unit)
		return NULL;
	/* A hit that was recorded before the last arming is old news. */
	if (!unit->armed || now >= unit->armed_ns)
		areas_opened(self, unit, now);
	if (hit->flags & HW_HIT_AROUND)
		return NULL;
	unit->hits++;
	if (now > unit->seen_ns)
		unit->seen_ns = now;
	if (!area || now < area->birth_ns)
		return NULL;
	area->seen_ns = now > area->seen_ns ? now : area->seen_ns;
	if (now > unit->last_ns)
		unit->last_ns = now;
	if (!area->touched && vec_push(&self->touched, area))
		area->touched = (u32)self->touched.count;
	self->points.data[area->context].hits++;
	area->hits++;
	area->hit_context = hit->context;
	return area;
}
