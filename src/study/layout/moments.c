/* SPDX-License-Identifier: MIT
 * Bins of time, exact extremes, and the peak of a selection.
 * Host. Events are ordered inside of bins only, and only where the order can matter: what a bin
 * begins with, and what is added in it, bound what it can reach. */
#include "study/layout/moments.h"

#include <stdlib.h>
#include <string.h>

#include "study/layout/divide.h"

enum {
	FINE_BINS = 1 << 14,
	EVENTS_MAX = 4 << 20, /* that are put in order for one answer: 16 bytes each */
};

/* ---- axes ---- */

static bool find_starts(struct time_axis *self)
{
	u64 span = self->edges[self->bins] - self->origin;
	u32 bin = 0;

	self->slots = 4 * self->bins;
	self->starts = calloc(self->slots + 1, sizeof *self->starts); /* one more for rounding */
	if (!self->starts)
		return false;
	self->slots_per_tick = span ? self->slots / (double)span : 0;
	for (u32 slot = 0; slot <= self->slots; slot++) {
		u64 ticks = self->origin + (u64)((__uint128_t)span * slot / self->slots);

		while (bin + 1 < self->bins && ticks >= self->edges[bin + 1])
			bin++;
		self->starts[slot] = bin;
	}
	return true;
}

bool time_axis_init(struct time_axis *self, const struct tick_clock *clock, u64 from_ns, u64 to_ns,
		    u32 bins)
{
	if (to_ns <= from_ns)
		to_ns = from_ns + 1;
	if (!bins)
		bins = 1;
	*self = (struct time_axis){.from_ns = from_ns, .to_ns = to_ns, .bins = bins};
	self->edges = malloc((bins + 1) * sizeof *self->edges);
	if (!self->edges)
		return false;
	for (u32 i = 0; i < bins; i++)
		self->edges[i] =
			tick_clock_ticks(clock, from_ns + (u64)((__uint128_t)(to_ns - from_ns) * i /
								bins));
	self->edges[bins] = tick_clock_ticks(clock, to_ns + 1); /* its end belongs to it */
	if (self->edges[bins] < self->edges[bins - 1])
		self->edges[bins] = self->edges[bins - 1];
	self->origin = self->edges[0];
	if (from_ns == 0 && clock->pairs.count && clock->pairs.data[0].ticks <= self->edges[1])
		self->origin = clock->pairs.data[0].ticks;
	return find_starts(self);
}

void time_axis_release(struct time_axis *self)
{
	free(self->edges);
	free(self->starts);
	self->edges = NULL;
	self->starts = NULL;
}

bool time_axis_of(struct time_axis *self, const struct view_scope *scope, u32 bins)
{
	u64 end = model_duration_ns(scope->trace->model);

	if (!scope->window.to_ns)
		return time_axis_init(self, &scope->trace->model->clock, 0, end, bins);
	return time_axis_init(self, &scope->trace->model->clock, scope->window.from_ns,
			      scope->window.to_ns, bins);
}

u64 time_axis_end(const struct time_axis *self, u32 bin)
{
	return self->from_ns +
	       (u64)((__uint128_t)(self->to_ns - self->from_ns) * (bin + 1) / self->bins);
}

/* ---- events ---- */

struct moment {
	u64 ticks;
	i64 change;
};

/* What happens in a bin. */
struct tide_bin {
	i64 plus, minus;
	u32 events;
};

/* Sums per bin, with a place for what was before the axis, at [0]. */
struct tide {
	const struct view_scope *scope;
	const struct time_axis *axis;
	bool count;
	struct tide_bin *bins;
};

static u64 tide_bytes(const struct tide *self)
{
	return (self->axis->bins + 2) * sizeof *self->bins;
}

static bool tide_init(struct tide *self)
{
	self->bins = calloc(1, tide_bytes(self));
	return self->bins != NULL;
}

static i64 bin_change(const struct tide *self, u32 place)
{
	return self->bins[place].plus - self->bins[place].minus;
}

static i64 chunk_value(const struct tide *self, const struct view_chunk *chunk)
{
	u64 units, bytes;

	view_weigh_chunk(self->scope, chunk, &units, &bytes);
	return (i64)(self->count ? units : bytes);
}

/* Calls for each change of the part's chunks on the axis, or before it (bin BEFORE_AXIS). */
static int each_change(struct tide *self, const struct view_part *part,
		       void (*take)(struct tide *, int bin, u64 ticks, i64 change, void *data),
		       void *data, struct err *err)
{
	int after = (int)self->axis->bins;
	struct view_chunk chunk;

	for (u64 at = part->first;
	     at < part->end && view_next(self->scope, &at, &chunk) && chunk.number < part->end;) {
		u64 alloc = chunk.page->alloc_ticks[chunk.at];
		int bin = time_axis_bin(self->axis, alloc);
		i64 value;

		if (chunk.number % CHUNK_PAGE == 0 && view_check(self->scope, err) < 0)
			return err->code;
		model_pass(self->scope->trace->model, chunk.number);
		if (bin == after || !view_is_ever_live(&chunk))
			continue;
		value = chunk_value(self, &chunk);
		take(self, bin, alloc, value, data);
		if (!view_is_freed(&chunk))
			continue;
		bin = time_axis_bin(self->axis, chunk.page->free_ticks[chunk.at]);
		if (bin != after)
			take(self, bin, chunk.page->free_ticks[chunk.at], -value, data);
	}
	return 0;
}

static void tide_add(struct tide *self, int bin, u64 ticks, i64 change, void *data)
{
	(void)ticks, (void)data;
	if (change > 0)
		self->bins[bin + 1].plus += change;
	else
		self->bins[bin + 1].minus -= change;
	self->bins[bin + 1].events++;
}

static int tide_part(void *data, const struct view_part *part, struct err *err)
{
	struct tide own = *(struct tide *)data;

	own.bins = part->room;
	return each_change(&own, part, tide_add, NULL, err);
}

/* Fills the sums, each part of the chunks apart. */
static int tide_fill(struct tide *self, struct err *err)
{
	struct view_division division = {.parts = view_parts(self->scope),
					 .bytes = tide_bytes(self),
					 .what = "the timeline"};
	int status = view_divide(self->scope, &division, tide_part, self, err);

	for (u32 i = 0; i < division.parts && status == 0; i++)
		for (u32 k = 0; k <= self->axis->bins; k++) {
			const struct tide_bin *bin = (struct tide_bin *)division.rooms[i] + k;

			self->bins[k].plus += bin->plus;
			self->bins[k].minus += bin->minus;
			self->bins[k].events += bin->events;
		}
	view_division_release(&division);
	return status;
}

/* Frees come first of what happens at one moment: they were stamped before, allocations after. */
static int moment_order(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->change < y->change ? -1 : x->change > y->change;
}

/* The changes of chosen bins, bin by bin and each in order of time. */
struct ordered {
	struct moment *moments;
	u64 *first; /* by bin; its changes end where those of the next begin */
	u64 *next;  /* while they are gathered */
	const u8 *chosen;
};

static void ordered_release(struct ordered *self)
{
	free(self->moments);
	free(self->first);
	free(self->next);
}

static void ordered_add(struct tide *tide, int bin, u64 ticks, i64 change, void *data)
{
	struct ordered *self = data;

	(void)tide;
	if (bin != BEFORE_AXIS && self->chosen[bin])
		self->moments[self->next[bin]++] = (struct moment){ticks, change};
}

static int ordered_make(struct ordered *self, struct tide *tide, struct err *err)
{
	const struct view_part all = {.end = UINT64_MAX};
	u32 bins = tide->axis->bins;
	u64 count = 0;
	int status;

	self->first = calloc(bins + 1, sizeof *self->first);
	self->next = calloc(bins + 1, sizeof *self->next);
	if (!self->first || !self->next)
		return err_memory_for(err, "the timeline");
	for (u32 i = 0; i < bins; i++) {
		self->first[i] = self->next[i] = count;
		count += self->chosen[i] ? tide->bins[i + 1].events : 0;
	}
	self->first[bins] = count;
	self->moments = malloc((count + 1) * sizeof *self->moments);
	if (!self->moments)
		return err_memory_for(err, "the timeline");
	status = each_change(tide, &all, ordered_add, self, err);
	for (u32 i = 0; i < bins && status == 0; i++) {
		if (self->chosen[i])
			qsort(&self->moments[self->first[i]], self->first[i + 1] - self->first[i],
			      sizeof *self->moments, moment_order);
		status = view_check(tide->scope, err);
	}
	return status;
}

/* ---- peaks ---- */

/* The highest value that any bin ends with: bins that cannot reach more need no order. */
static i64 reached_at_ends(const struct tide *tide)
{
	i64 value = bin_change(tide, 0), best = value;

	for (u32 i = 1; i <= tide->axis->bins; i++) {
		value += bin_change(tide, i);
		if (value > best)
			best = value;
	}
	return best;
}

static void choose_bins(const struct tide *tide, i64 best, u8 *chosen)
{
	i64 value = bin_change(tide, 0);

	for (u32 i = 0; i < tide->axis->bins; i++) {
		chosen[i] = tide->bins[i + 1].plus && value + tide->bins[i + 1].plus >= best;
		value += bin_change(tide, i + 1);
	}
}

static void find_peak(const struct tide *tide, const struct ordered *ordered, u64 *bytes,
		      u64 *ticks)
{
	i64 before = bin_change(tide, 0), best = before;

	*ticks = tide->axis->edges[0];
	for (u32 i = 0; i < tide->axis->bins; i++) {
		i64 value = before;

		for (u64 k = ordered->first[i]; k < ordered->first[i + 1]; k++) {
			value += ordered->moments[k].change;
			if (value > best) {
				best = value;
				*ticks = ordered->moments[k].ticks;
			}
		}
		before += bin_change(tide, i + 1);
	}
	*bytes = best > 0 ? (u64)best : 0;
}

int view_peak(const struct view_scope *self, u64 *bytes, u64 *ticks, struct err *err)
{
	struct time_axis axis = {0};
	struct tide tide = {.scope = self, .axis = &axis};
	struct ordered ordered = {0};
	u8 *chosen = calloc(FINE_BINS, 1);
	int status = ERR_MEMORY;

	if (view_has_order(self)) {
		free(chosen);
		return order_peak(self, bytes, ticks, err);
	}
	if (!chosen || !time_axis_of(&axis, self, FINE_BINS) || !tide_init(&tide)) {
		err_memory_for(err, "the peak");
		goto out;
	}
	status = tide_fill(&tide, err);
	if (status < 0)
		goto out;
	choose_bins(&tide, reached_at_ends(&tide), chosen);
	ordered.chosen = chosen;
	status = ordered_make(&ordered, &tide, err);
	if (status == 0)
		find_peak(&tide, &ordered, bytes, ticks);
out:
	ordered_release(&ordered);
	free(tide.bins);
	time_axis_release(&axis);
	free(chosen);
	return status;
}

/* ---- curves ---- */

static bool curve_init(struct time_curve *self, u32 bins)
{
	self->min = calloc(bins, sizeof *self->min);
	self->max = calloc(bins, sizeof *self->max);
	self->last = calloc(bins, sizeof *self->last);
	return self->min && self->max && self->last;
}

void time_curve_release(struct time_curve *self)
{
	free(self->min);
	free(self->max);
	free(self->last);
	*self = (struct time_curve){0};
}

static void extend(double *low, double *high, double value)
{
	if (value < *low)
		*low = value;
	if (value > *high)
		*high = value;
}

/* A bin has at least the value that it begins with. */
static void curve_of_order(struct time_curve *self, const struct tide *tide,
			   const struct ordered *ordered, double units)
{
	i64 value = bin_change(tide, 0);

	for (u32 i = 0; i < tide->axis->bins; i++) {
		self->min[i] = self->max[i] = (double)value / units;
		for (u64 k = ordered->first[i]; k < ordered->first[i + 1]; k++) {
			value += ordered->moments[k].change;
			extend(&self->min[i], &self->max[i], (double)value / units);
		}
		self->last[i] = (double)value / units;
	}
}

/* From bins of a finer axis, `ratio` to one. */
static void curve_of_bins(struct time_curve *self, const struct tide *fine, u32 bins, u32 ratio,
			  double units)
{
	i64 value = bin_change(fine, 0);

	for (u32 i = 0; i < bins; i++) {
		self->min[i] = self->max[i] = (double)value / units;
		for (u32 k = i * ratio; k < (i + 1) * ratio; k++) {
			value += bin_change(fine, k + 1);
			extend(&self->min[i], &self->max[i], (double)value / units);
		}
		self->last[i] = (double)value / units;
	}
}

static u64 events_on_axis(const struct tide *tide)
{
	u64 events = 0;

	for (u32 i = 1; i <= tide->axis->bins; i++)
		events += tide->bins[i].events;
	return events;
}

static int curve_exactly(struct time_curve *self, struct tide *tide, double units, struct err *err)
{
	u8 *chosen = malloc(tide->axis->bins);
	struct ordered ordered = {.chosen = chosen};
	int status = ERR_MEMORY;

	if (chosen) {
		memset(chosen, 1, tide->axis->bins);
		status = ordered_make(&ordered, tide, err);
	} else {
		err_memory_for(err, "the timeline");
	}
	if (status == 0)
		curve_of_order(self, tide, &ordered, units);
	self->exact = true;
	ordered_release(&ordered);
	free(chosen);
	return status;
}

int time_curve_make(struct time_curve *self, const struct view_scope *scope,
		    const struct time_axis *axis, bool count, struct err *err)
{
	const struct model *model = scope->trace->model;
	double units = count ? (double)(1ull << model->count_shift) : 1;
	u32 ratio = FINE_BINS / axis->bins + 1;
	struct time_axis finer = {0};
	struct tide fine = {.scope = scope, .axis = &finer, .count = count};
	struct tide tide = {.scope = scope, .axis = axis, .count = count};
	int status = ERR_MEMORY;

	*self = (struct time_curve){0};
	if (model->order.count && curve_init(self, axis->bins)) {
		status = order_curve(self, scope, axis, count, err);
		if (status < 0)
			time_curve_release(self);
		return status;
	}
	time_curve_release(self);
	if (!curve_init(self, axis->bins) || !tide_init(&tide) ||
	    !time_axis_init(&finer, &model->clock, axis->from_ns, axis->to_ns,
			    axis->bins * ratio) ||
	    !tide_init(&fine)) {
		err_memory_for(err, "the timeline");
		goto out;
	}
	status = tide_fill(&fine, err);
	if (status < 0)
		goto out;
	if (events_on_axis(&fine) > EVENTS_MAX) {
		curve_of_bins(self, &fine, axis->bins, ratio, units);
		goto out;
	}
	/* What happened in a bin is what happened in its finer ones. */
	tide.bins[0] = fine.bins[0];
	for (u32 i = 0; i < axis->bins * ratio; i++)
		tide.bins[i / ratio + 1].events += fine.bins[i + 1].events;
	status = curve_exactly(self, &tide, units, err);
out:
	free(tide.bins);
	free(fine.bins);
	time_axis_release(&finer);
	if (status < 0)
		time_curve_release(self);
	return status;
}
