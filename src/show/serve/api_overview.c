/* SPDX-License-Identifier: MIT
 * The whole run in one answer. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/resident/series.h"
#include "study/model/narrow.h"
#include "show/render/render.h"
#include "study/analysis/findings/unnamed.h"
#include "show/serve/api.h"
#include "study/layout/keys.h"
#include "study/layout/points.h"

enum { HEAP_BINS = 400 };

struct overview {
	struct point_sums *sums;
	const struct findings *findings;
	const struct view_keys *types, *modules;
	struct timeline_view heap;
	u64 top;
};

/* ---- scores ---- */

static void put_summary(struct json *json, const char *key, const struct score_summary *score)
{
	json_open_flat(json, key, '{');
	json_real(json, "g", score->points ? score->mean : NAN);
	json_real(json, "var", score->points ? score->variance : NAN);
	json_real(json, "w_allocs", score->points ? score->mean_by_allocations : NAN);
	json_real(json, "w_bytes",
		  score->points && score->has_by_bytes ? score->mean_by_bytes : NAN);
	json_number(json, "points", score->points);
	json_close(json, '}');
}

static void put_scores(struct call *call)
{
	static const char *const names[SCORES] = {"lifetime", "usage", "useful"};
	const struct study *trace = call->trace;
	u64 steps[SEVERITY_STEPS] = {0};

	json_open_flat(&call->json, "scores", '{');
	for (u32 i = 0; i < SCORES; i++) {
		struct score_summary summary = score_summarise(&trace->behaviour, (enum score)i);

		put_summary(&call->json, names[i], &summary);
	}
	json_close(&call->json, '}');
	for (u64 i = 0; i < trace->model->points.count; i++)
		if (trace->severity[i])
			steps[trace->severity[i] - 1]++;
	json_open_flat(&call->json, "severity_hist", '[');
	for (u32 i = 0; i < SEVERITY_STEPS; i++)
		json_number(&call->json, NULL, steps[i]);
	json_close(&call->json, ']');
}

/* ---- totals ---- */

static void put_totals(struct call *call)
{
	const struct model *model = call->trace->model;
	const struct model_totals *totals = &model->totals;
	bool exec = model_keeps_nothing(model);
	struct json *json = &call->json;
	struct call_costs costs;
	bool cpu_known;
	double cpu_ns = model_cpu_ns(model, &cpu_known);

	json_open_flat(json, "bytes", '{');
	json_number(json, "total", totals->bytes);
	json_number(json, "peak", totals->peak_bytes);
	json_number(json, "peak_t", tick_clock_ns(&model->clock, totals->peak_ticks));
	json_number(json, "kept", exec ? 0 : totals->live_bytes);
	json_number(json, "end", totals->live_bytes);
	json_close(json, '}');
	json_open_flat(json, "counts", '{');
	json_number(json, "allocs", model_count(model, totals->allocations));
	json_number(json, "frees", model_count(model, totals->frees));
	json_number(json, "reallocs", model_count(model, model->kinds[HW_REALLOC]));
	json_number(json, "temporary", model_count(model, totals->temporary));
	json_number(json, "points", model_point_count(model));
	json_close(json, '}');
	json_open_flat(json, "alloc_time", '{');
	call_costs_find(&costs, model);
	json_real(json, "ns", costs.all.enough ? floor(costs.all.ns) : NAN);
	json_real(json, "low", costs.all.enough ? floor(costs.all.low_ns) : NAN);
	json_real(json, "high", costs.all.enough ? floor(costs.all.high_ns) : NAN);
	json_real(json, "pct", costs.all.enough && cpu_ns > 0 ? 100.0 * costs.all.ns / cpu_ns : NAN);
	json_number(json, "timed", costs.all.timed);
	json_real(json, "cpu_ns", cpu_known ? cpu_ns : NAN);
	json_close(json, '}');
}

/* ---- verdicts ---- */

static void put_verdicts(struct call *call, const struct overview *overview)
{
	struct result *holder = result_new(RESULT_RECORD, "findings", "");

	json_open_flat(&call->json, "findings", '[');
	for (u64 i = 0; holder && i < overview->findings->rows.count && i < overview->top; i++)
		put_finding(call, &overview->findings->rows.data[i], holder);
	json_close(&call->json, ']');
	json_number(&call->json, "findings_all", overview->findings->rows.count);
	result_free(holder);
}

/* ---- lists ---- */

struct ranked {
	double value;
	u32 index;
};

static int most_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Puts one where it belongs among the highest so far, if it does; how many there are then. */
static u64 keep_highest(struct ranked *highest, u64 count, u64 most, struct ranked one)
{
	if (!(one.value > 0) || (count == most && most_first(&highest[count - 1], &one) <= 0))
		return count;
	count += count < most;
	for (u64 i = count - 1;; i--) {
		if (i == 0 || most_first(&highest[i - 1], &one) <= 0) {
			highest[i] = one;
			return count;
		}
		highest[i] = highest[i - 1];
	}
}

static double measure(const struct call *call, const struct overview *overview, u32 point,
		      u32 which)
{
	const struct point_sums *sums = &overview->sums[point];

	switch (which) {
	case 0:
		return (double)call->trace->model->points.data[point].at_peak_bytes;
	case 1:
		return sums->kept_bytes;
	case 2:
		return sums->chunks;
	default:
		return sums->temporary;
	}
}

static void put_top_points(struct call *call, const struct overview *overview, const char *key,
			   u32 which)
{
	const struct model *model = call->trace->model;
	struct ranked *ranked = calloc(overview->top, sizeof *ranked);
	u64 count = 0;

	json_open_flat(&call->json, key, '[');
	for (u32 i = 0; ranked && i < model->points.count; i++)
		count = keep_highest(ranked, count, overview->top,
				     (struct ranked){measure(call, overview, i, which), i});
	for (u64 i = 0; i < count; i++) {
		struct finding_place place;

		place = finding_place(&call->trace->stacks,
				      model->points.data[ranked[i].index].frame);
		json_open_flat(&call->json, NULL, '{');
		json_number(&call->json, "point", ranked[i].index);
		json_text(&call->json, "fn", *place.own.function ? place.own.function : NULL);
		json_text(&call->json, "file", *place.own.file ? place.own.file : NULL);
		if (place.own.line)
			json_number(&call->json, "line", place.own.line);
		else
			json_null(&call->json, "line");
		json_text(&call->json, "module", *place.own.module ? place.own.module : NULL);
		json_number(&call->json, "offset", place.own.offset);
		json_real(&call->json, "value", round(ranked[i].value));
		json_close(&call->json, '}');
	}
	json_close(&call->json, ']');
	free(ranked);
}

/* By what the points had live at the peak. */
static void put_top_keys(struct call *call, const struct overview *overview, const char *key,
			 const struct view_keys *keys)
{
	const struct model *model = call->trace->model;
	struct ranked *ranked = calloc(keys->keys.count + 1, sizeof *ranked);

	json_open_flat(&call->json, key, '[');
	for (u32 i = 0; ranked && i < keys->keys.count; i++)
		ranked[i].index = i;
	for (u32 i = 0; ranked && i < model->points.count; i++)
		ranked[keys->of_point[i]].value += (double)model->points.data[i].at_peak_bytes;
	if (ranked)
		qsort(ranked, keys->keys.count, sizeof *ranked, most_first);
	for (u64 i = 0; ranked && i < keys->keys.count && i < overview->top; i++) {
		if (!(ranked[i].value > 0))
			break;
		json_open_flat(&call->json, NULL, '{');
		json_text(&call->json, "label", keys->keys.data[ranked[i].index].label);
		json_number(&call->json, "value", (u64)ranked[i].value);
		json_close(&call->json, '}');
	}
	json_close(&call->json, ']');
	free(ranked);
}

/* What the resident memory consisted of, as the report's table has it; null if nobody looked. */
static void put_memory(struct call *call)
{
	const struct model *model = call->trace->model;
	struct resident_series series = {0};
	struct result *table = NULL;
	struct err err = {0};

	if (model->memory.count && resident_series_make(&series, model, &err) == 0)
		table = analyse_resident(model, &series, &err);
	resident_series_release(&series);
	if (table)
		render_json_value(&call->json, "memory", table);
	else
		json_null(&call->json, "memory");
	result_free(table);
}

static void put_heap(struct call *call, const struct timeline_view *heap)
{
	struct json *json = &call->json;
	u32 bins = heap->axis.bins;

	json_open_flat(json, "heap", '{');
	json_open_flat(json, "t", '[');
	for (u32 i = 0; i < bins; i++)
		json_number(json, NULL, time_axis_end(&heap->axis, i));
	json_close(json, ']');
	put_reals(json, "max", heap->total.max, bins);
	if (heap->rss)
		put_reals(json, "rss", heap->rss, bins);
	else
		json_null(json, "rss");
	json_close(json, '}');
}

/* What helps where functions have no names. */
static void put_unnamed(struct call *call)
{
	struct strbuf text = {0};

	unnamed_advice(&call->trace->stacks, true, &text);
	json_text(&call->json, "unnamed", text.count && !text.failed ? text.text : NULL);
	strbuf_release(&text);
}

static void put_overview(struct call *call, const struct overview *overview)
{
	struct json *json = &call->json;

	json_open_flat(json, "data", '{');
	put_scores(call);
	put_totals(call);
	put_verdicts(call, overview);
	json_open_flat(json, "top", '{');
	put_top_points(call, overview, "peak", 0);
	put_top_points(call, overview, "kept", 1);
	put_top_points(call, overview, "allocs", 2);
	put_top_points(call, overview, "temporary", 3);
	put_top_keys(call, overview, "types", overview->types);
	put_top_keys(call, overview, "modules", overview->modules);
	json_close(json, '}');
	put_memory(call);
	put_heap(call, &overview->heap);
	put_unnamed(call);
	json_close(json, '}');
}

static int overview_make(struct call *call, struct overview *self, struct err *err)
{
	struct view_scope all = {.trace = call->trace,
				 .selection = call->trace->all,
				 .window = call->scope.window};
	struct timeline_query line = {.bins = HEAP_BINS, .top = 1};

	if (study_scores(call->trace, err) < 0)
		return err->code;
	self->sums = point_sums_make(&all, err);
	self->findings = self->sums ? study_findings(call->trace, err) : NULL;
	self->types = self->findings ? view_keys(call->trace, BY_TYPE, err) : NULL;
	self->modules = self->types ? view_keys(call->trace, BY_MODULE, err) : NULL;
	if (!self->modules)
		return err->code;
	return timeline_view_make(&self->heap, &all, &line, err);
}

void api_overview(struct call *call)
{
	struct overview overview = {.top = 10};
	struct err err = {0};

	if (!call_number(call, "top", 1, 100, &overview.top))
		return;
	if (overview_make(call, &overview, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, false)) {
		put_overview(call, &overview);
		reply_end(call);
	}
	free(overview.sums);
	timeline_view_release(&overview.heap);
}
