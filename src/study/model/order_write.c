/* SPDX-License-Identifier: MIT
 * Puts the events of a model in the order of their times.
 *
 * A model may be larger than memory, so it is done for a part of the run after the other: as many
 * events as fit into a buffer. Zones of pages tell which pages have any of them.
 * Host. */
#include "study/model/order.h"

#include <stdlib.h>
#include <string.h>

#include "study/model/model.h"

enum {
	EVENTS_ONCE = 4 << 20, /* about: 2 × 24 bytes each */
	SAMPLES_MAX = 1 << 16, /* by which parts are cut */
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
	SNAPSHOT_EVENTS = 1 << 16, /* at least, from one snapshot to the next */
};
#define SNAPSHOT_BYTES (32ull << 20) /* of all of them */

struct moment {
	u64 ticks, size;
	u32 code, point;
};

struct level {
	struct order_block block; /* that is being filled */
	VEC(struct order_block) blocks;
};

struct ordering {
	struct model *model;
	struct index_writer *out;
	VEC(struct moment) moments; /* of one part */
	VEC(struct moment) spare;   /* for sorting */
	u64 events, done;
	u64 every;
	struct point_live all;
	struct level levels[ORDER_LEVELS];
	struct point_live *points;
	i64 *peaks;
	VEC(struct point_live) snapshots;
};

static bool was_freed(const struct chunk_page *page, u32 k)
{
	return page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED;
}

/* Stamps may be estimates: a chunk that does not end after its birth is never live, and has no
 * events. */
static bool has_events(const struct chunk_page *page, u32 k)
{
	return page->end[k] != CHUNK_ABSENT &&
	       !(was_freed(page, k) && page->free_ticks[k] <= page->alloc_ticks[k]);
}

/* ---- parts of the run ---- */

static int ticks_order(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Times of some events, in order; at most SAMPLES_MAX. */
static u64 sample(const struct model *model, u64 *ticks)
{
	u64 step = 2 * model->chunks.count / SAMPLES_MAX + 1, count = 0, looked = 0;

	for (u64 i = 0; i < model->chunks.count && count + 2 <= SAMPLES_MAX; i += step) {
		const struct chunk_page *page = chunk_at(&model->chunks, i);
		u32 k = (u32)(i % CHUNK_PAGE);

		if (looked++ % 1024 == 0) /* each has come with its neighbours, 64 KiB or more */
			model_rest(model);
		if (!page || page->end[k] == CHUNK_ABSENT)
			continue;
		ticks[count++] = page->alloc_ticks[k];
		if (was_freed(page, k))
			ticks[count++] = page->free_ticks[k];
	}
	qsort(ticks, count, sizeof *ticks, ticks_order);
	return count;
}

static u64 count_events(const struct model *model)
{
	u64 events = 0;

	for (u64 i = 0; i < model->chunks.zones.count; i++)
		events += 2ull * model->chunks.zones.data[i].chunks -
			  model->chunks.zones.data[i].unfreed;
	return events;
}

/* ---- gathering ---- */

/* Events of a page at [from, to]. */
static bool gather_page(struct ordering *self, u64 number, bool frees, u64 from, u64 to)
{
	const struct chunk_page *page = self->model->chunks.pages.data[number];
	const u64 *ticks = frees ? page->free_ticks : page->alloc_ticks;

	if (!vec_reserve(&self->moments, CHUNK_PAGE))
		return false;
	for (u32 k = 0; k < CHUNK_PAGE; k++) {
		if (ticks[k] - from > to - from || !has_events(page, k) ||
		    (frees && !was_freed(page, k)))
			continue;
		self->moments.data[self->moments.count++] = (struct moment){
			.ticks = ticks[k],
			.size = page->size[k],
			.code = (u32)(number * CHUNK_PAGE + k) << 1 | frees,
			.point = model_point_of(self->model, page->alloc_context[k]).index};
	}
	return true;
}

/* Frees first, then allocations, each by chunk: an order by time that keeps what is equal as it is
 * does the rest. */
static bool gather(struct ordering *self, u64 from, u64 to)
{
	const struct chunk_table *chunks = &self->model->chunks;

	vec_clear(&self->moments);
	for (u32 frees = 2; frees-- > 0;)
		for (u64 i = 0; i < chunks->pages.count; i++) {
			const struct chunk_zone *zone = &chunks->zones.data[i];
			u64 first = frees ? zone->free_first : zone->alloc_first;
			u64 last = frees ? zone->free_last : zone->alloc_last;

			if (!chunks->pages.data[i] || first > last || first > to || last < from)
				continue;
			if (!gather_page(self, i, frees, from, to))
				return false;
			if (i % 64 == 0)
				column_store_trim(self->model->store);
		}
	return true;
}

/* ---- sorting ---- */

static void sort_digit(const struct moment *from, struct moment *to, u64 count, u64 least,
		       u32 shift)
{
	u64 places[DIGITS] = {0}, before = 0;

	for (u64 i = 0; i < count; i++)
		places[(from[i].ticks - least) >> shift & (DIGITS - 1)]++;
	for (u32 i = 0; i < DIGITS; i++) {
		u64 here = places[i];

		places[i] = before;
		before += here;
	}
	for (u64 i = 0; i < count; i++)
		to[places[(from[i].ticks - least) >> shift & (DIGITS - 1)]++] = from[i];
}

/* By time; what is equal keeps its order. */
static bool sort(struct ordering *self)
{
	u64 count = self->moments.count, least = UINT64_MAX, most = 0;

	for (u64 i = 0; i < count; i++) {
		u64 ticks = self->moments.data[i].ticks;

		least = ticks < least ? ticks : least;
		most = ticks > most ? ticks : most;
	}
	vec_clear(&self->spare);
	if (!vec_extend(&self->spare, count))
		return false;
	for (u32 shift = 0; count && shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
		struct moment *data = self->moments.data;
		u64 capacity = self->moments.capacity;

		sort_digit(data, self->spare.data, count, least, shift);
		self->moments.data = self->spare.data;
		self->moments.capacity = self->spare.capacity;
		self->spare.data = data;
		self->spare.capacity = capacity;
		self->spare.count = count;
	}
	return true;
}

/* ---- sums ---- */

static bool level_close(struct level *self) { return vec_push(&self->blocks, self->block); }

static void level_add(struct level *self, const struct point_live *all)
{
	struct order_block *block = &self->block;

	block->low_bytes = all->bytes < block->low_bytes ? all->bytes : block->low_bytes;
	block->high_bytes = all->bytes > block->high_bytes ? all->bytes : block->high_bytes;
	block->low_units = all->units < block->low_units ? all->units : block->low_units;
	block->high_units = all->units > block->high_units ? all->units : block->high_units;
}

/* Whatever begins with the next event. */
static bool begin_blocks(struct ordering *self, u64 ticks)
{
	u64 span = ORDER_BLOCK;

	for (u32 i = 0; i < ORDER_LEVELS && self->done % span == 0; i++, span *= ORDER_STEP) {
		if (self->done && !level_close(&self->levels[i]))
			return false;
		self->levels[i].block =
			(struct order_block){ticks,     self->all.bytes, self->all.units, INT64_MAX,
					     INT64_MIN, INT64_MAX,       INT64_MIN};
	}
	if (!self->every || !self->done || self->done % self->every)
		return true;
	if (!vec_reserve(&self->snapshots, self->model->points.count))
		return false;
	memcpy(&self->snapshots.data[self->snapshots.count], self->points,
	       self->model->points.count * sizeof *self->points);
	self->snapshots.count += self->model->points.count;
	return true;
}

static bool add(struct ordering *self, const struct moment *moment)
{
	struct point_live *point = &self->points[moment->point];
	i64 way = moment->code & 1 ? -1 : 1;
	u64 units, bytes;

	if (self->done % ORDER_BLOCK == 0 && !begin_blocks(self, moment->ticks))
		return false;
	model_weigh(self->model, moment->size, &units, &bytes);
	point->bytes += way * (i64)bytes;
	point->units += way * (i64)units;
	if (point->bytes > self->peaks[moment->point])
		self->peaks[moment->point] = point->bytes;
	self->all.bytes += way * (i64)bytes;
	self->all.units += way * (i64)units;
	for (u32 i = 0; i < ORDER_LEVELS; i++)
		level_add(&self->levels[i], &self->all);
	self->done++;
	return true;
}

/* One part of the run: sorts it, sums it up, and writes its codes. */
static int write_part(struct ordering *self, u64 from, u64 to, struct err *err)
{
	u32 *codes;

	if (!gather(self, from, to) || !sort(self))
		return err_memory_for(err, "the order of events");
	codes = (u32 *)self->spare.data; /* free again */
	for (u64 i = 0; i < self->moments.count; i++) {
		if (!add(self, &self->moments.data[i]))
			return err_memory_for(err, "the order of events");
		codes[i] = self->moments.data[i].code;
	}
	return stored_add(self->out, codes, self->moments.count * sizeof *codes, err);
}

static int write_parts(struct ordering *self, struct err *err)
{
	u64 *ticks = malloc(SAMPLES_MAX * sizeof *ticks), from = 0;
	u64 count = ticks ? sample(self->model, ticks) : 0;
	u64 parts = self->events / EVENTS_ONCE + 1;
	int status = ticks ? 0 : err_memory_for(err, "the order of events");

	for (u64 i = 1; i <= parts && status == 0; i++) {
		u64 to = i == parts || !count ? UINT64_MAX : ticks[count * i / parts];

		if (to < from || (to == UINT64_MAX && i < parts))
			continue;
		status = write_part(self, from, to, err);
		from = to + 1;
	}
	free(ticks);
	return status;
}

static int write_sums(struct ordering *self, struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < ORDER_LEVELS && status == 0; i++) {
		struct level *level = &self->levels[i];

		if (self->done && !level_close(level))
			return err_memory_for(err, "the order of events");
		status = stored_put(self->out, STORED_BLOCKS + i, 0, level->blocks.data,
				    level->blocks.count * sizeof *level->blocks.data, err);
	}
	if (status == 0 && self->snapshots.count)
		status = stored_put(self->out, STORED_SNAPSHOTS, self->every, self->snapshots.data,
				    self->snapshots.count * sizeof *self->snapshots.data, err);
	if (status == 0)
		status = stored_put(self->out, STORED_PEAKS, 0, self->peaks,
				    self->model->points.count * sizeof *self->peaks, err);
	return status;
}

/* From one snapshot to the next: a multiple of a block, so that both begin together. */
static u64 snapshot_distance(const struct ordering *self)
{
	u64 rows = SNAPSHOT_BYTES / (self->model->points.count * sizeof(struct point_live) + 1);
	u64 every = rows ? self->events / rows + 1 : 0;

	if (every && every < SNAPSHOT_EVENTS)
		every = SNAPSHOT_EVENTS;
	return (every + ORDER_BLOCK - 1) / ORDER_BLOCK * ORDER_BLOCK;
}

int order_write(struct model *model, struct index_writer *out, struct err *err)
{
	struct ordering self = {.model = model, .out = out, .events = count_events(model)};
	int status = 0;

	if (!self.events || model->chunks.count > INT32_MAX)
		return 0; /* a code has no room for such numbers */
	self.every = snapshot_distance(&self);
	self.points = calloc(model->points.count + 1, sizeof *self.points);
	self.peaks = calloc(model->points.count + 1, sizeof *self.peaks);
	if (!self.points || !self.peaks)
		status = err_memory_for(err, "the order of events");
	if (status == 0)
		status = stored_begin(out, STORED_ORDER, 0, err);
	if (status == 0)
		status = write_parts(&self, err);
	if (status == 0)
		status = write_sums(&self, err);
	for (u32 i = 0; i < ORDER_LEVELS; i++)
		vec_release(&self.levels[i].blocks);
	vec_release(&self.moments);
	vec_release(&self.spare);
	vec_release(&self.snapshots);
	free(self.points);
	free(self.peaks);
	return status;
}
