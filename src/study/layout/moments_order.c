/* SPDX-License-Identifier: MIT
 * Curves and peaks from the order of events that the index has.
 * Host. Of all chunks nothing but the ends of bins is looked at; of a selection its events, in
 * their order. */
#include "study/layout/moments.h"

#include <stdlib.h>
#include <string.h>

#include "study/layout/divide.h"
#include "study/model/order.h"

int order_peak(const struct view_scope *self, u64 *bytes, u64 *ticks, struct err *err)
{
	const struct model *model = self->trace->model;
	struct time_axis axis = {0};
	struct order_range range;
	u64 first, end;

	if (!time_axis_of(&axis, self, 1))
		return err_memory_for(err, "the peak");
	first = order_find(model, axis.edges[0]);
	end = order_find(model, axis.edges[1]);
	range = order_range(model, first, end);
	*bytes = range.high_bytes > 0 ? (u64)range.high_bytes : 0;
	*ticks = axis.edges[0];
	if (range.high_bytes > range.first_bytes)
		*ticks = order_ticks(model, order_reaches(model, first, end, range.high_bytes));
	time_axis_release(&axis);
	return 0;
}

static void curve_of_all(struct time_curve *self, const struct model *model,
			 const struct time_axis *axis, bool count, double units)
{
	u64 first = order_find(model, axis->edges[0]), end;

	for (u32 i = 0; i < axis->bins; i++, first = end) {
		struct order_range range;

		if (i % 16 == 0)
			model_rest(model);
		end = order_find(model, axis->edges[i + 1]);
		range = order_range(model, first, end);
		self->min[i] = (double)(count ? range.low_units : range.low_bytes) / units;
		self->max[i] = (double)(count ? range.high_units : range.high_bytes) / units;
		self->last[i] = (double)(count ? range.last_units : range.last_bytes) / units;
	}
	self->exact = true;
}

/* ---- of a selection ---- */

struct bin_range {
	i64 low, high, last;
	bool touched; /* an event of the part is in it */
};

/* A part of the events. Values are those that it would have if nothing were live before. */
struct swing {
	i64 early; /* when the first bin begins, or at its own end if that is before */
	i64 value; /* at its end */
	struct bin_range bins[];
};

struct swinging {
	const struct view_scope *scope;
	const u64 *ends; /* by bin: events before its end; ends[-1] is where the first bin begins */
	u32 bin_count;
	bool count;
};

static i64 change_of(const struct swinging *self, u32 code)
{
	const struct model *model = self->scope->trace->model;
	u64 size = chunk_at(&model->chunks, code >> 1)->size[(code >> 1) % CHUNK_PAGE];
	u64 units = 1, bytes = size;

	if (unlikely(model->count_shift))
		model_weigh(model, size, &units, &bytes);
	if (self->count)
		bytes = units;
	return code & 1 ? -(i64)bytes : (i64)bytes;
}

/* Events [from, to), all in one bin; NULL = before the first. */
static void swing_over(const struct swinging *self, struct swing *swing, struct bin_range *bin,
		       u64 from, u64 to)
{
	i64 value = swing->value, low = value, high = value;

	for (u64 i = from; i < to; i += VIEW_PICK) {
		u32 codes[VIEW_PICK];
		u32 picked =
			view_pick(self->scope, i, to - i < VIEW_PICK ? to - i : VIEW_PICK, codes);

		view_pass_events(self->scope, i);
		for (u32 k = 0; k < picked; k++) {
			value += change_of(self, codes[k]);
			low = value < low ? value : low;
			high = value > high ? value : high;
		}
	}
	if (bin)
		*bin = (struct bin_range){low, high, value, true};
	swing->value = value;
}

static int swing_part(void *data, const struct view_part *part, struct err *err)
{
	struct swinging *self = data;
	struct swing *swing = part->room;
	u64 events = self->ends[self->bin_count - 1];
	/* It is events that are divided, not chunks. */
	u64 from = events * part->number / part->parts;
	u64 to = events * (part->number + 1) / part->parts;

	for (i64 bin = -1; bin < (i64)self->bin_count && from < to; bin++) {
		u64 until = self->ends[bin] < to ? self->ends[bin] : to;

		if (until <= from)
			continue;
		if (view_check(self->scope, err) < 0)
			return err->code;
		swing_over(self, swing, bin < 0 ? NULL : &swing->bins[bin], from, until);
		if (bin < 0)
			swing->early = swing->value;
		from = until;
	}
	return 0;
}

static const struct swing *swing_of(const struct view_division *division, u32 part)
{
	return division->rooms[part];
}

/* A bin has at least the value that it begins with. */
static void join_parts(const struct swinging *self, const struct view_division *division,
		       struct time_curve *curve, double units)
{
	i64 before[DIVIDE_MAX + 1] = {0}, value = 0;

	for (u32 i = 0; i < division->parts; i++) {
		before[i + 1] = before[i] + swing_of(division, i)->value;
		value += swing_of(division, i)->early;
	}
	for (u32 k = 0; k < self->bin_count; k++) {
		i64 low = value, high = value;

		for (u32 i = 0; i < division->parts; i++) {
			const struct bin_range *bin = &swing_of(division, i)->bins[k];

			if (!bin->touched)
				continue;
			low = before[i] + bin->low < low ? before[i] + bin->low : low;
			high = before[i] + bin->high > high ? before[i] + bin->high : high;
			value = before[i] + bin->last;
		}
		curve->min[k] = (double)low / units;
		curve->max[k] = (double)high / units;
		curve->last[k] = (double)value / units;
	}
	curve->exact = true;
}

static int curve_of_selection(struct time_curve *curve, struct swinging *self, double units,
			      struct err *err)
{
	struct view_division division = {.parts = view_parts(self->scope),
					 .bytes = sizeof(struct swing) +
						  self->bin_count * sizeof(struct bin_range),
					 .what = "the timeline"};
	int status = view_divide(self->scope, &division, swing_part, self, err);

	if (status == 0)
		join_parts(self, &division, curve, units);
	view_division_release(&division);
	return status;
}

int order_curve(struct time_curve *self, const struct view_scope *scope,
		const struct time_axis *axis, bool count, struct err *err)
{
	const struct model *model = scope->trace->model;
	double units = count ? (double)(1ull << model->count_shift) : 1;
	u64 *ends;
	struct swinging swinging = {.scope = scope, .bin_count = axis->bins, .count = count};
	int status;

	if (view_has_order(scope)) {
		curve_of_all(self, model, axis, count, units);
		return 0;
	}
	ends = malloc((axis->bins + 1) * sizeof *ends);
	if (!ends)
		return err_memory_for(err, "the timeline");
	for (u32 i = 0; i <= axis->bins; i++)
		ends[i] = order_find(model, axis->edges[i]);
	swinging.ends = ends + 1;
	status = curve_of_selection(self, &swinging, units, err);
	free(ends);
	return status;
}
