/* SPDX-License-Identifier: MIT
 * Timelines: one pass over the chunks for all series, sums of changes per bin.
 * Host. */
#include "study/layout/timeline.h"

#include <math.h>
#include <string.h>

#include "host/base/keyed.h"
#include "study/layout/divide.h"
#include "study/layout/keys.h"

/* Keys that get a curve of their own until it is known which are the highest. */
enum { CURVES_MAX = 256 };

/* More than this are not put in order where the model's own buckets will do. */
enum { MANY_CHUNKS = 1 << 18 };

bool view_flow_parse(const char *word, enum view_flow *flow)
{
	static const char *const names[FLOWS] = {"live", "chunks", "allocs", "frees",
						 "alloc_bytes"};

	return word_parse(names, word, flow);
}

/* ---- curves by key ---- */

struct curves {
	const struct view_scope *scope;
	const struct timeline_query *query;
	const struct time_axis *axis;
	const struct view_keys *keys;
	u32 *curve_of;  /* by key */
	u32 *key_of;    /* by curve */
	u32 count;      /* curves; the last one is of all other keys */
	double *values; /* by curve and bin */
	double units;
	u32 near; /* the bin of the last allocation */
};

struct ranked {
	double weight;
	u32 key;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Which keys might be high: by the most that their points had live, or by what threads
 * allocated. */
static void rank_keys(const struct curves *self, struct ranked *ranked)
{
	const struct model *model = self->scope->trace->model;

	for (u32 i = 0; i < self->keys->keys.count; i++)
		ranked[i] = (struct ranked){(double)self->keys->keys.data[i].peak_bytes, i};
	if (self->keys->by == BY_THREAD)
		for (u32 i = 0; i < model->threads.count; i++)
			ranked[i].weight = (double)model->threads.data[i].bytes;
	qsort(ranked, self->keys->keys.count, sizeof *ranked, heaviest_first);
}

static int choose_keys(struct curves *self)
{
	u64 keys = self->keys->keys.count;
	u32 own = keys < CURVES_MAX ? (u32)keys : CURVES_MAX;
	struct ranked *ranked = calloc(keys, sizeof *ranked);

	self->count = own + 1;
	self->curve_of = calloc(keys, sizeof *self->curve_of);
	self->key_of = calloc(self->count, sizeof *self->key_of);
	self->values = calloc((u64)self->count * self->axis->bins, sizeof *self->values);
	if (!ranked || !self->curve_of || !self->key_of || !self->values) {
		free(ranked);
		return ERR_MEMORY;
	}
	rank_keys(self, ranked);
	for (u64 i = 0; i < keys; i++) {
		self->curve_of[ranked[i].key] = i < own ? (u32)i : own;
		if (i < own)
			self->key_of[i] = ranked[i].key;
	}
	free(ranked);
	return 0;
}

static double *value_at(const struct curves *self, u32 curve, int bin)
{
	return &self->values[(u64)curve * self->axis->bins + (u64)(bin < 0 ? 0 : bin)];
}

/* What a chunk changes: stocks rise and fall, flows count in their bin. */
static void add_chunk(struct curves *self, const struct view_chunk *chunk)
{
	int after = (int)self->axis->bins;
	int alloc =
		time_axis_bin_near(self->axis, chunk->page->alloc_ticks[chunk->at], &self->near);
	int freed = view_is_freed(chunk)
			    ? time_axis_bin(self->axis, chunk->page->free_ticks[chunk->at])
			    : after;
	u32 curve = self->curve_of[view_key_of(self->keys, self->scope, chunk)];
	u64 units, bytes;

	view_weigh_chunk(self->scope, chunk, &units, &bytes);
	switch (self->query->flow) {
	case FLOW_LIVE:
	case FLOW_CHUNKS: {
		double value = self->query->flow == FLOW_LIVE ? (double)bytes
							      : (double)units / self->units;

		if (!view_is_ever_live(chunk))
			break;
		if (alloc != after)
			*value_at(self, curve, alloc) += value;
		if (alloc != after && freed != after)
			*value_at(self, curve, freed) -= value;
		break;
	}
	case FLOW_ALLOCS:
		if (alloc >= 0 && alloc != after)
			*value_at(self, curve, alloc) += (double)units / self->units;
		break;
	case FLOW_ALLOC_BYTES:
		if (alloc >= 0 && alloc != after)
			*value_at(self, curve, alloc) += (double)bytes;
		break;
	case FLOW_FREES:
		if (freed >= 0 && freed != after)
			*value_at(self, curve, freed) += (double)units / self->units;
		break;
	case FLOWS: break;
	}
}

static bool is_stock(enum view_flow flow) { return flow == FLOW_LIVE || flow == FLOW_CHUNKS; }

static int fill_part(void *data, const struct view_part *part, struct err *err)
{
	const struct curves *self = data;
	struct curves own = *self;
	struct view_chunk chunk;
	u64 page = UINT64_MAX;

	own.values = part->room;
	for (u64 at = part->first;
	     at < part->end && view_next(self->scope, &at, &chunk) && chunk.number < part->end;) {
		if (chunk.number / CHUNK_PAGE != page) {
			model_pass(self->scope->trace->model,
				   chunk.number / CHUNK_PAGE * CHUNK_PAGE);
			if (view_check(self->scope, err) < 0)
				return err->code;
		}
		page = chunk.number / CHUNK_PAGE;
		add_chunk(&own, &chunk);
	}
	return 0;
}

static int fill_curves(struct curves *self, struct err *err)
{
	u64 cells = (u64)self->count * self->axis->bins;
	struct view_division division = {.parts = view_parts(self->scope),
					 .bytes = cells * sizeof *self->values,
					 .what = "the timeline"};
	int status = view_divide(self->scope, &division, fill_part, self, err);

	view_division_sum(&division, self->values, cells);
	for (u32 curve = 0; is_stock(self->query->flow) && curve < self->count; curve++)
		for (u32 bin = 1; bin < self->axis->bins; bin++)
			*value_at(self, curve, (int)bin) += *value_at(self, curve, (int)bin - 1);
	return status;
}

static int curves_make(struct curves *self, struct err *err)
{
	self->units = (double)(1ull << self->scope->trace->model->count_shift);
	self->keys = view_scope_keys(self->scope, self->query->by, err);
	if (!self->keys)
		return err->code;
	if (choose_keys(self) < 0)
		return err_memory_for(err, "the timeline");
	return fill_curves(self, err);
}

static void curves_release(struct curves *self)
{
	free(self->curve_of);
	free(self->key_of);
	free(self->values);
}

/* ---- series ---- */

static double curve_peak(const struct curves *self, u32 curve)
{
	double peak = 0;

	for (u32 bin = 0; bin < self->axis->bins; bin++)
		if (*value_at(self, curve, (int)bin) > peak)
			peak = *value_at(self, curve, (int)bin);
	return peak;
}

static bool series_copy(struct timeline_view *view, struct timeline_series *series,
			const struct curves *curves, u32 curve)
{
	u32 bins = curves->axis->bins;

	if (!series->last)
		series->last = arena_new_array(&view->arena, double, bins);
	if (!series->last)
		return false;
	for (u32 bin = 0; bin < bins; bin++)
		series->last[bin] += *value_at(curves, curve, (int)bin);
	return true;
}

/* Keys without a curve of their own are together in the last one. */
static u64 keys_behind(const struct curves *self, u32 curve)
{
	return curve == self->count - 1 ? self->keys->keys.count - (self->count - 1) : 1;
}

static int take_series(struct timeline_view *view, const struct curves *curves)
{
	struct ranked *ranked = calloc(curves->count, sizeof *ranked);
	u32 last = curves->count - 1;

	if (!ranked)
		return ERR_MEMORY;
	for (u32 i = 0; i < curves->count; i++)
		ranked[i] = (struct ranked){curve_peak(curves, i), i};
	qsort(ranked, curves->count, sizeof *ranked, heaviest_first);
	for (u32 i = 0; i < curves->count; i++) {
		u32 curve = ranked[i].key;
		bool own = curve != last && view->series.count < curves->query->top;
		struct timeline_series series = {.peak = ranked[i].weight};

		if (ranked[i].weight <= 0)
			continue;
		if (own) {
			const struct view_key *key =
				&curves->keys->keys.data[curves->key_of[curve]];

			series.key = key->number;
			series.label = arena_copy(&view->arena, key->label);
		}
		if (own && (!series_copy(view, &series, curves, curve) ||
			    !vec_push(&view->series, series))) {
			free(ranked);
			return ERR_MEMORY;
		}
		if (own)
			continue;
		view->has_other = series_copy(view, &view->other, curves, curve);
		view->other_keys += keys_behind(curves, curve);
	}
	free(ranked);
	for (u32 bin = 0; view->has_other && bin < curves->axis->bins; bin++)
		if (view->other.last[bin] > view->other.peak)
			view->other.peak = view->other.last[bin];
	return 0;
}

/* ---- total ---- */

/* The model keeps extremes of the whole run; its buckets are finer than the bins. */
static bool total_of_model(struct timeline_view *view, const struct view_scope *scope,
			   const struct timeline_query *query)
{
	const struct model *model = scope->trace->model;
	const struct timeline *line = &model->timeline;
	const struct time_axis *axis = &view->axis;
	u32 at = 0;

	if (!view_is_all(scope) || scope->window.to_ns || query->flow != FLOW_LIVE ||
	    model->chunks.count < MANY_CHUNKS)
		return false;
	for (u32 bin = 0; bin < axis->bins; bin++) {
		view->total.min[bin] = bin ? view->total.last[bin - 1] : 0;
		view->total.max[bin] = view->total.last[bin] = view->total.min[bin];
		/* A bucket belongs to the bin in which it begins. */
		for (; at <= line->current &&
		       (bin + 1 == axis->bins ||
			line->start_ticks + at * line->width_ticks < axis->edges[bin + 1]);
		     at++) {
			const struct timeline_bucket *bucket = &line->bucket[at];

			view->total.min[bin] =
				fmin(view->total.min[bin], (double)bucket->min_bytes);
			view->total.max[bin] =
				fmax(view->total.max[bin], (double)bucket->max_bytes);
			view->total.last[bin] = (double)bucket->last_bytes;
		}
	}
	view->total.exact = true;
	return true;
}

static double sum_of_curves(const struct curves *curves, u32 bin)
{
	double sum = 0;

	for (u32 curve = 0; curve < curves->count; curve++)
		sum += *value_at(curves, curve, (int)bin);
	return sum;
}

/* Flows have one value in a bin. */
static void total_of_curves(struct timeline_view *view, const struct curves *curves)
{
	for (u32 bin = 0; bin < view->axis.bins; bin++)
		view->total.min[bin] = view->total.max[bin] = view->total.last[bin] =
			sum_of_curves(curves, bin);
	view->total.exact = true;
}

/* A bucket may lie in two bins; the series do not, and what a bin ends with is what they add up
 * to. */
static void settle_ends(struct timeline_view *view, const struct curves *curves)
{
	for (u32 bin = 0; bin < view->axis.bins; bin++) {
		double last = sum_of_curves(curves, bin);

		view->total.last[bin] = last;
		view->total.min[bin] = fmin(view->total.min[bin], last);
		view->total.max[bin] = fmax(view->total.max[bin], last);
	}
}

static int make_total(struct timeline_view *view, const struct view_scope *scope,
		      const struct timeline_query *query, const struct curves *curves,
		      struct err *err)
{
	u32 bins = view->axis.bins;

	view->total.min = calloc(bins, sizeof(double));
	view->total.max = calloc(bins, sizeof(double));
	view->total.last = calloc(bins, sizeof(double));
	if (!view->total.min || !view->total.max || !view->total.last)
		return err_memory_for(err, "the timeline");
	if (!is_stock(query->flow)) {
		total_of_curves(view, curves);
		return 0;
	}
	if (!view_has_order(scope) && total_of_model(view, scope, query)) {
		if (curves->values)
			settle_ends(view, curves);
		return 0;
	}
	time_curve_release(&view->total);
	return time_curve_make(&view->total, scope, &view->axis, query->flow == FLOW_CHUNKS, err);
}

/* ---- beside it ---- */

static int add_rss(struct timeline_view *self, const struct model *model)
{
	u32 bins = self->axis.bins;
	double before = NAN;

	if (!model->usage.count)
		return 0;
	self->rss = arena_new_array(&self->arena, double, bins);
	if (!self->rss)
		return ERR_MEMORY;
	for (u32 i = 0; i < bins; i++)
		self->rss[i] = NAN;
	for (u64 i = 0; i < model->usage.count; i++) {
		const struct stream_usage *usage = &model->usage.data[i];
		int bin = time_axis_bin(&self->axis, usage->ticks);

		if (bin == BEFORE_AXIS)
			before = (double)usage->rss_bytes;
		else if (bin < (int)bins && !(self->rss[bin] >= (double)usage->rss_bytes))
			self->rss[bin] = (double)usage->rss_bytes;
	}
	for (u32 i = 0; i < bins; i++) { /* it stays as it was until it is looked at again */
		if (isnan(self->rss[i]))
			self->rss[i] = before;
		before = self->rss[i];
	}
	return 0;
}

static int add_marks(struct timeline_view *self, const struct model *model)
{
	for (u64 i = 0; i < model->marks.count && self->marks.count < 1000; i++) {
		const struct model_mark *mark = &model->marks.data[i];
		int bin = time_axis_bin(&self->axis, mark->ticks);
		struct timeline_mark row = {tick_clock_ns(&model->clock, mark->ticks),
					    hw_mark_word(mark->kind), mark->name};

		if (bin != BEFORE_AXIS && bin < (int)self->axis.bins &&
		    !vec_push(&self->marks, row))
			return ERR_MEMORY;
	}
	return 0;
}

int timeline_view_make(struct timeline_view *self, const struct view_scope *scope,
		       const struct timeline_query *query, struct err *err)
{
	const struct model *model = scope->trace->model;
	struct curves curves = {.scope = scope, .query = query, .axis = &self->axis};
	bool need_curves = query->by != BY_NONE || !is_stock(query->flow);
	int status = 0;

	*self = (struct timeline_view){0};
	if (!time_axis_of(&self->axis, scope, query->bins) || add_rss(self, model) < 0 ||
	    add_marks(self, model) < 0)
		return err_memory_for(err, "the timeline");
	if (need_curves)
		status = curves_make(&curves, err);
	if (status == 0)
		status = make_total(self, scope, query, &curves, err);
	if (status == 0 && query->by != BY_NONE && take_series(self, &curves) < 0)
		status = err_memory_for(err, "the timeline");
	if (need_curves)
		curves_release(&curves);
	return status;
}

void timeline_view_end(struct timeline_view *self, u64 end_ns)
{
	u32 bins = self->axis.bins;

	for (u32 i = bins; i-- > 1 && time_axis_end(&self->axis, i - 1) >= end_ns;) {
		self->total.min[i] = self->total.max[i] = self->total.last[i] = NAN;
		for (u64 k = 0; k < self->series.count; k++)
			self->series.data[k].last[i] = NAN;
		if (self->has_other)
			self->other.last[i] = NAN;
	}
}

void timeline_view_release(struct timeline_view *self)
{
	time_axis_release(&self->axis);
	time_curve_release(&self->total);
	vec_release(&self->series);
	vec_release(&self->marks);
	arena_release(&self->arena);
}
