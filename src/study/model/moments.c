/* SPDX-License-Identifier: MIT
 * Puts births and ends of chunks in the order of their times: as many at a time as fit into a
 * buffer. Zones of pages tell which pages have any of them.
 * Host. */
#include "study/model/moments.h"

#include <stdlib.h>

#include "host/base/order.h"

enum {
	EVENTS_ONCE = 2 << 20, /* about: 2 × 32 bytes each */
	SAMPLES_MAX = 1 << 16, /* by which parts are cut */
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
};

struct gathering {
	struct model *model;
	VEC(struct moment) moments; /* of one part */
	VEC(struct moment) spare;   /* for sorting */
};

static bool was_freed(const struct chunk_page *page, u32 k)
{
	return page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED;
}

static bool is_brief(const struct chunk_page *page, u32 k)
{
	return was_freed(page, k) && page->free_ticks[k] <= page->alloc_ticks[k];
}

/* ---- parts of the run ---- */

static int ticks_order(const void *a, const void *b)
{
	return rising(*(const u64 *)a, *(const u64 *)b);
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

u64 moments_count(const struct model *model)
{
	u64 events = 0;

	for (u64 i = 0; i < model->chunks.zones.count; i++)
		events += 2ull * model->chunks.zones.data[i].chunks -
			  model->chunks.zones.data[i].unfreed;
	return events;
}

/* ---- gathering ---- */

static void add(struct gathering *self, u64 chunk, u64 ticks, bool freed)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);

	self->moments.data[self->moments.count++] =
		(struct moment){.ticks = ticks,
				.size = page->size[k],
				.code = chunk << 1 | freed,
				.point = model_point_of(self->model, page->alloc_context[k]).index,
				.brief = is_brief(page, k)};
}

/* Births of a page at [from, to], or ends; those of brief chunks together. */
static bool gather_page(struct gathering *self, u64 number, bool frees, u64 from, u64 to)
{
	const struct chunk_page *page = self->model->chunks.pages.data[number];
	const u64 *ticks = frees ? page->free_ticks : page->alloc_ticks;

	if (!vec_reserve(&self->moments, 2 * CHUNK_PAGE))
		return false;
	for (u32 k = 0; k < CHUNK_PAGE; k++) {
		bool brief = is_brief(page, k);

		if (ticks[k] - from > to - from || page->end[k] == CHUNK_ABSENT ||
		    (frees && (brief || !was_freed(page, k))))
			continue;
		add(self, number * CHUNK_PAGE + k, ticks[k], frees);
		if (brief)
			add(self, number * CHUNK_PAGE + k, ticks[k], true);
	}
	return true;
}

/* Frees first, then allocations, each by chunk: an order by time that keeps what is equal as it is
 * does the rest. */
static bool gather(struct gathering *self, u64 from, u64 to)
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
			if (i % 64 == 0 && self->model->store)
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
static bool sort(struct gathering *self)
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

int moments_each(struct model *model,
		 int (*take)(void *self, const struct moment *moments, u64 count, struct err *err),
		 void *taker, struct err *err)
{
	struct gathering self = {.model = model};
	u64 *ticks = malloc(SAMPLES_MAX * sizeof *ticks), from = 0;
	u64 count = ticks ? sample(model, ticks) : 0;
	u64 parts = moments_count(model) / EVENTS_ONCE + 1;
	int status = ticks ? 0 : err_memory_for(err, "the order of events");

	for (u64 i = 1; i <= parts && status == 0; i++) {
		u64 to = i == parts || !count ? UINT64_MAX : ticks[count * i / parts];

		if (to < from || (to == UINT64_MAX && i < parts))
			continue;
		if (gather(&self, from, to) && sort(&self))
			status = take(taker, self.moments.data, self.moments.count, err);
		else
			status = err_memory_for(err, "the order of events");
		from = to + 1;
	}
	free(ticks);
	vec_release(&self.moments);
	vec_release(&self.spare);
	return status;
}
