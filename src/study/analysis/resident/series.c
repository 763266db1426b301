/* SPDX-License-Identifier: MIT
 * Resident memory over time; see series.h.
 * Host. Estimates nothing: between two points nothing is known. */
#include "study/analysis/resident/series.h"

#include "host/base/order.h"
#include "host/base/search.h"
#include "study/model/each.h"

static const u64 LASTING_NS_MIN = 100000000;

/* ---- points ---- */

static u64 recorder_bytes(const struct model *model, const struct model_memory *memory)
{
	u64 bytes = 0;

	for (u64 i = 0; i < memory->count; i++) {
		const struct stream_resident *row = &model->residents.data[memory->first + i];

		bytes += row->kind == MEMORY_RECORDER ? row->resident_bytes : 0;
	}
	return bytes;
}

static int by_ticks(const void *a, const void *b)
{
	const struct resident_point *x = a, *y = b;

	return rising(x->ticks, y->ticks);
}

/* Whether somebody followed the stream, and it has all. */
static bool has_live(const struct model *model)
{
	return (model->forgets || !model->live_late) && !model->aggregated &&
	       model->usage_live.count == model->usage.count &&
	       model->memory_live.count == model->memory.count;
}

static bool add_points(struct resident_series *self, const struct model *model)
{
	for (u64 i = 0; i < model->usage.count; i++) {
		const struct stream_usage *usage = &model->usage.data[i];

		if (!vec_push(&self->points,
			      ((struct resident_point){usage->ticks, usage->rss_bytes, 0,
						       has_live(model) ? model->usage_live.data[i]
								       : 0})))
			return false;
	}
	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];

		if (!vec_push(&self->points,
			      ((struct resident_point){memory->ticks, memory->rss_bytes,
						       recorder_bytes(model, memory),
						       has_live(model) ? model->memory_live.data[i]
								       : 0})))
			return false;
	}
	vec_sort(&self->points, by_ticks);
	return true;
}

/* A look knows the recorder's share; it hardly changes, so that it stands for samples until the
 * next look, and the first one for what was before it. */
static void spread_recorder(struct resident_series *self)
{
	u64 share = 0;

	for (u64 i = 0; i < self->points.count && !share; i++)
		share = self->points.data[i].recorder_bytes;
	for (u64 i = 0; i < self->points.count; i++) {
		struct resident_point *point = &self->points.data[i];

		if (point->recorder_bytes)
			share = point->recorder_bytes;
		point->recorder_bytes = share < point->rss_bytes ? share : point->rss_bytes;
	}
}

/* The first point that is not before the ticks. */
static u64 point_from(const struct resident_series *self, u64 ticks)
{
	return bisect(i, self->points.count, self->points.data[i].ticks < ticks);
}

static bool add_live(struct resident_series *self, const struct model *model)
{
	/* sizes may be anything: sums wrap */
	u64 *steps = calloc(self->points.count + 1, sizeof *steps), live = 0;

	if (!steps)
		return false;
	if (self->points.count)
		EACH_CHUNK (chunk, model) {
			u64 units, bytes, freed = chunk.page->free_ticks[chunk.at];
			u64 first = point_from(self, chunk.page->alloc_ticks[chunk.at]);
			u64 last = freed ? point_from(self, freed) : self->points.count;

			if (last <= first)
				continue;
			model_weigh(model, chunk.page->size[chunk.at], &units, &bytes);
			steps[first] += bytes;
			steps[last] -= bytes;
		}
	for (u64 i = 0; i < self->points.count; i++) {
		live += steps[i];
		self->points.data[i].live_bytes = live;
	}
	free(steps);
	return true;
}

static void find_peak(struct resident_series *self, const struct model *model)
{
	for (u64 i = 0; i < self->points.count; i++)
		if (self->points.data[i].rss_bytes > self->seen_bytes) {
			self->seen_bytes = self->points.data[i].rss_bytes;
			self->seen_ticks = self->points.data[i].ticks;
		}
	self->peak_bytes = resident_peak_bytes(model);
}

int resident_series_make(struct resident_series *self, const struct model *model, struct err *err)
{
	if (!add_points(self, model) || (!has_live(model) && !add_live(self, model)))
		return err_memory_for(err, "the resident memory");
	spread_recorder(self);
	find_peak(self, model);
	return 0;
}

void resident_series_release(struct resident_series *self) { vec_release(&self->points); }

const struct resident_point *resident_series_at(const struct resident_series *self, u64 ticks)
{
	u64 next = ticks == UINT64_MAX ? self->points.count : point_from(self, ticks + 1);

	return next ? &self->points.data[next - 1] : NULL;
}

/* ---- gaps ---- */

u64 resident_lasting_ns(const struct model *model)
{
	u64 part = model_duration_ns(model) / 10;

	return part > LASTING_NS_MIN ? part : LASTING_NS_MIN;
}

static u64 gap_of(const struct resident_series *self, u64 number)
{
	return resident_point_gap(&self->points.data[number]);
}

static u64 ns_of(const struct model *model, const struct resident_series *self, u64 number)
{
	return tick_clock_ns(&model->clock, self->points.data[number].ticks);
}

/* Of all stretches of points that last at least so long, the one whose smallest gap is largest: the
 * point with that gap, or the number of points. `queue` holds the points of the stretch that may be
 * the smallest of it or of a later one, by rising gap. */
static u64 find_widest(const struct model *model, const struct resident_series *self, u64 least_ns,
		       u64 *queue)
{
	u64 widest = self->points.count, head = 0, tail = 0, first = 0;

	for (u64 last = 0; last < self->points.count; last++) {
		u64 end_ns = ns_of(model, self, last);

		while (tail > head && gap_of(self, queue[tail - 1]) >= gap_of(self, last))
			tail--;
		queue[tail++] = last;
		/* The shortest stretch that ends here and is long enough. */
		while (first < last && end_ns - ns_of(model, self, first + 1) >= least_ns)
			first++;
		while (queue[head] < first)
			head++;
		if (end_ns - ns_of(model, self, first) >= least_ns && last > first &&
		    (widest == self->points.count ||
		     gap_of(self, queue[head]) > gap_of(self, widest)))
			widest = queue[head];
	}
	return widest;
}

/* The look of that time with the widest gap. */
static const struct model_memory *look_within(const struct model *model,
					      const struct resident_series *self, u64 from_ticks,
					      u64 to_ticks)
{
	const struct model_memory *found = NULL;
	u64 most = 0;

	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];
		const struct resident_point *point;

		if (memory->ticks < from_ticks || memory->ticks > to_ticks)
			continue;
		point = resident_series_at(self, memory->ticks);
		if (!found || resident_point_gap(point) > most) {
			most = resident_point_gap(point);
			found = memory;
		}
	}
	return found;
}

int resident_gap_find(struct resident_gap *self, const struct model *model,
		      const struct resident_series *series, u64 least_ns, struct err *err)
{
	u64 *queue = malloc((series->points.count + 1) * sizeof *queue);
	u64 at, first, last, floor;

	*self = (struct resident_gap){0};
	if (!queue)
		return err_memory_for(err, "the resident memory");
	at = find_widest(model, series, least_ns, queue);
	free(queue);
	if (at == series->points.count || !gap_of(series, at))
		return 0;
	floor = gap_of(series, at) - gap_of(series, at) / 10;
	for (first = at; first && gap_of(series, first - 1) >= floor;)
		first--;
	for (last = at; last + 1 < series->points.count && gap_of(series, last + 1) >= floor;)
		last++;
	for (u64 i = first; i <= last; i++)
		at = gap_of(series, i) < gap_of(series, at) ? i : at;
	self->bytes = gap_of(series, at);
	self->from_ns = ns_of(model, series, first);
	self->to_ns = ns_of(model, series, last);
	self->to_end = last + 1 == series->points.count;
	self->at_ns = ns_of(model, series, at);
	self->rss_bytes = series->points.data[at].rss_bytes;
	self->recorder_bytes = series->points.data[at].recorder_bytes;
	self->live_bytes = series->points.data[at].live_bytes;
	self->memory = look_within(model, series, series->points.data[first].ticks,
				   series->points.data[last].ticks);
	return self->memory ? resident_account(model, self->memory, &self->account, err) : 0;
}

u64 resident_cause_bytes(const struct resident_account *account, enum resident_cause cause)
{
	switch (cause) {
	case CAUSE_ALLOCATOR:
		return account->bytes[PART_SLACK] + account->bytes[PART_PINNED] +
		       account->bytes[PART_CACHED] + account->bytes[PART_THREAD_CACHES];
	case CAUSE_MAPPINGS: return account->bytes[PART_MAPPINGS] + account->bytes[PART_FILES];
	case CAUSE_CODE: return account->bytes[PART_CODE] + account->bytes[PART_STACKS];
	case CAUSES: break;
	}
	return 0;
}
