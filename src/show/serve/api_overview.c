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
#include "show/serve/api.h"
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

static struct named_value summary_field(const char *name, struct call *call, enum score which)
{
	struct score_summary score = score_summarise(&call->trace->behaviour, which);
	bool known = score.points != 0;

	return KEPT(name, call, field_if(known, FIELD("g", score.mean)),
		    field_if(known, FIELD("var", score.variance)),
		    field_if(known, FIELD("w_allocs", score.mean_by_allocations)),
		    field_if(known && score.has_by_bytes, FIELD("w_bytes", score.mean_by_bytes)),
		    FIELD("points", score.points));
}

/* ---- totals ---- */

static struct named_value time_field(struct call *call)
{
	struct call_costs costs;
	bool cpu_known, timed;
	double cpu_ns = model_cpu_ns(call->trace->model, &cpu_known);

	call_costs_find(&costs, call->trace->model);
	timed = costs.all.enough;
	return KEPT("alloc_time", call, field_if(timed, FIELD("ns", floor(costs.all.ns))),
		    field_if(timed, FIELD("low", floor(costs.all.low_ns))),
		    field_if(timed, FIELD("high", floor(costs.all.high_ns))),
		    field_if(timed && cpu_ns > 0, FIELD("pct", 100.0 * costs.all.ns / cpu_ns)),
		    FIELD("timed", costs.all.timed), field_if(cpu_known, FIELD("cpu_ns", cpu_ns)));
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

/* What is ranked highest: points, or keys. */
struct top_list {
	const struct call *call;
	const struct view_keys *keys;
	struct ranked *rows;
};

static struct named_value top_field(const char *name, struct call *call, struct top_list list,
				    u64 count, put_item *put)
{
	struct top_list *kept = arena_new(&call->holder->arena, struct top_list);

	if (kept)
		*kept = list;
	return LIST(name, kept && list.rows ? count : 0, put, kept);
}

static void put_top_point(struct json *json, const void *list, u64 i)
{
	const struct top_list *self = list;
	const struct ranked *row = &self->rows[i];
	const struct study *trace = self->call->trace;
	struct finding_place place =
		finding_place(&trace->stacks, trace->model->points.data[row->index].frame);

	put_object(json, NULL, FIELD("point", row->index), NAME("fn", place.own.function),
		   NAME("file", place.own.file), SOME("line", place.own.line),
		   NAME("module", place.own.module), FIELD("offset", place.own.offset),
		   FIELD("value", round(row->value)));
}

static struct named_value highest_points(const char *name, struct call *call,
					 const struct overview *overview, u32 which)
{
	struct ranked *rows = arena_new_array(&call->holder->arena, struct ranked, overview->top);
	u64 count = 0;

	for (u32 i = 0; rows && i < call->trace->model->points.count; i++)
		count = keep_highest(rows, count, overview->top,
				     (struct ranked){measure(call, overview, i, which), i});
	return top_field(name, call, (struct top_list){call, NULL, rows}, count, put_top_point);
}

static void put_top_key(struct json *json, const void *list, u64 i)
{
	const struct top_list *self = list;

	put_object(json, NULL, FIELD("label", self->keys->keys.data[self->rows[i].index].label),
		   FIELD("value", (u64)self->rows[i].value));
}

/* By what was live at the peak. */
static struct named_value highest_keys(const char *name, struct call *call,
				       const struct overview *overview,
				       const struct view_keys *keys)
{
	u64 all = keys->keys.count, count = 0;
	struct ranked *rows = arena_new_array(&call->holder->arena, struct ranked, all + 1);

	for (u32 i = 0; rows && i < all; i++)
		rows[i] = (struct ranked){(double)keys->keys.data[i].at_peak_bytes, i};
	if (rows)
		qsort(rows, all, sizeof *rows, most_first);
	while (rows && count < all && count < overview->top && rows[count].value > 0)
		count++;
	return top_field(name, call, (struct top_list){call, keys, rows}, count, put_top_key);
}

/* What the resident memory consisted of, as the report's table has it; NULL if nobody looked. */
static struct result *memory_table(const struct model *model)
{
	struct resident_series series = {0};
	struct result *table = NULL;
	struct err err = {0};

	if (model->memory.count && resident_series_make(&series, model, &err) == 0)
		table = analyse_resident(model, &series, &err);
	resident_series_release(&series);
	return table;
}

/* What helps where functions have no names. */
static struct named_value unnamed_field(struct call *call)
{
	struct strbuf text = {0};

	unnamed_advice(&call->trace->stacks, true, &text);
	return field_words("unnamed", call, &text);
}

static void reply_overview(struct call *call, const struct overview *overview)
{
	const struct study *trace = call->trace;
	const struct model *model = trace->model;
	const struct model_totals *totals = &model->totals;
	struct model_peak peak = model_peak(model);
	const struct timeline_view *heap = &overview->heap;
	const struct findings *findings = overview->findings;
	struct finding_list verdicts = {call, findings->rows.data};
	struct result *memory = memory_table(model);
	u64 steps[SEVERITY_STEPS] = {0}, found = findings->rows.count;

	for (u64 i = 0; i < model->points.count; i++)
		if (trace->severity[i])
			steps[trace->severity[i] - 1]++;
	reply_object(call, false,
		     OBJECT("scores", summary_field("lifetime", call, SCORE_LIFETIME),
			    summary_field("usage", call, SCORE_USAGE),
			    summary_field("useful", call, SCORE_USEFUL)),
		     NUMBERS("severity_hist", steps, SEVERITY_STEPS),
		     OBJECT("bytes", FIELD("total", totals->bytes), FIELD("peak", peak.bytes),
			    FIELD("peak_t", tick_clock_ns(&model->clock, peak.ticks)),
			    FIELD("kept", model_keeps_nothing(model) ? 0 : totals->live_bytes),
			    FIELD("end", totals->live_bytes)),
		     OBJECT("counts", FIELD("allocs", model_count(model, totals->allocations)),
			    FIELD("frees", model_frees(model)),
			    FIELD("reallocs", model_count(model, model->kinds[HW_REALLOC])),
			    FIELD("temporary", model_count(model, totals->temporary)),
			    FIELD("points", model_point_count(model))),
		     time_field(call),
		     LIST("findings", result_top(found, overview->top), put_finding, &verdicts),
		     FIELD("findings_all", found),
		     OBJECT("top", highest_points("peak", call, overview, 0),
			    highest_points("kept", call, overview, 1),
			    highest_points("allocs", call, overview, 2),
			    highest_points("temporary", call, overview, 3),
			    highest_keys("types", call, overview, overview->types),
			    highest_keys("modules", call, overview, overview->modules)),
		     RESULT("memory", memory),
		     OBJECT("heap", LIST("t", heap->axis.bins, put_axis_end, &heap->axis),
			    REALS("max", heap->total.max, heap->axis.bins),
			    field_if(heap->rss, REALS("rss", heap->rss, heap->axis.bins))),
		     unnamed_field(call));
	result_free(memory);
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
	if (overview_make(call, &overview, &err) < 0)
		call_fail(call, &err);
	else
		reply_overview(call, &overview);
	free(overview.sums);
	timeline_view_release(&overview.heap);
}
