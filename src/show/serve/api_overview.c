/* SPDX-License-Identifier: MIT
 * The whole run in one answer. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/resident/series.h"
#include "study/model/durations.h"
#include "study/model/narrow.h"
#include "show/render/render.h"
#include "study/analysis/findings/unnamed.h"
#include "show/serve/reply.h"
#include "study/layout/keys.h"
#include "study/layout/points.h"
#include "study/layout/timeline.h"

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
	bool known = score->points != 0;

	put_object(json, key, field_if(known, FIELD("g", score->mean)),
		   field_if(known, FIELD("var", score->variance)),
		   field_if(known, FIELD("w_allocs", score->mean_by_allocations)),
		   field_if(known && score->has_by_bytes, FIELD("w_bytes", score->mean_by_bytes)),
		   FIELD("points", score->points));
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
	bool cpu_known, timed;
	double cpu_ns = model_cpu_ns(model, &cpu_known);

	put_object(json, "bytes", FIELD("total", totals->bytes), FIELD("peak", totals->peak_bytes),
		   FIELD("peak_t", tick_clock_ns(&model->clock, totals->peak_ticks)),
		   FIELD("kept", exec ? 0 : totals->live_bytes), FIELD("end", totals->live_bytes));
	put_object(json, "counts", FIELD("allocs", model_count(model, totals->allocations)),
		   FIELD("frees", model_count(model, totals->frees)),
		   FIELD("reallocs", model_count(model, model->kinds[HW_REALLOC])),
		   FIELD("temporary", model_count(model, totals->temporary)),
		   FIELD("points", model_point_count(model)));
	call_costs_find(&costs, model);
	timed = costs.all.enough;
	put_object(json, "alloc_time", field_if(timed, FIELD("ns", floor(costs.all.ns))),
		   field_if(timed, FIELD("low", floor(costs.all.low_ns))),
		   field_if(timed, FIELD("high", floor(costs.all.high_ns))),
		   field_if(timed && cpu_ns > 0, FIELD("pct", 100.0 * costs.all.ns / cpu_ns)),
		   FIELD("timed", costs.all.timed), field_if(cpu_known, FIELD("cpu_ns", cpu_ns)));
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
	case 0: return (double)call->trace->model->points.data[point].at_peak_bytes;
	case 1: return sums->kept_bytes;
	case 2: return sums->chunks;
	default: return sums->temporary;
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
		struct finding_place place =
			finding_place(&call->trace->stacks,
				      model->points.data[ranked[i].index].frame);

		put_object(&call->json, NULL, FIELD("point", ranked[i].index),
			   NAME("fn", place.own.function), NAME("file", place.own.file),
			   SOME("line", place.own.line), NAME("module", place.own.module),
			   FIELD("offset", place.own.offset),
			   FIELD("value", round(ranked[i].value)));
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
		put_object(&call->json, NULL,
			   FIELD("label", keys->keys.data[ranked[i].index].label),
			   FIELD("value", (u64)ranked[i].value));
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
