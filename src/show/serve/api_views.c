/* SPDX-License-Identifier: MIT
 * Flame graph and timeline over HTTP. Runs on threads of the server. */
#include <math.h>
#include <string.h>

#include "show/serve/api.h"
#include "study/layout/flame.h"
#include "study/layout/timeline.h"

/* ---- flame ---- */

static bool flame_read(struct call *call, struct flame_query *query)
{
	static const double share[] = {0, 1};
	u32 dir = FLAME_DOWN;

	*query = (struct flame_query){.metric = METRIC_BYTES,
				      .at_ns = call->at_ns,
				      .fold_recursion = true,
				      .hide = call_text(call, "hide"),
				      .search = call_text(call, "s"),
				      .px = 1600,
				      .x1 = 1};
	if (!call_choice(call, "metric", view_metric_parse, &query->metric,
			 "allocs, bytes, peak, live, kept, lost, temporary, alloc_time, "
			 "chunks_live, idle or resident") ||
	    !call_word(call, "dir", "down, up or pivot", &dir))
		return false;
	query->dir = dir;
	query->pivot = dir == FLAME_PIVOT ? call_text(call, "pivot") : NULL;
	if (dir == FLAME_PIVOT && !query->pivot)
		return call_bad(call, "pivot", "the name of a function");
	return call_bool(call, "rec", &query->fold_recursion) &&
	       call_bool(call, "fold", &query->fold_library) &&
	       call_u32(call, "root", 0, UINT32_MAX - 1, &query->root) &&
	       call_u32(call, "px", 16, 16384, &query->px) &&
	       call_real(call, "x0", share, "a number from 0 to 1", &query->x0) &&
	       call_real(call, "x1", share, "a number above x0, at most 1", &query->x1) &&
	       (query->x1 > query->x0 || call_bad(call, "x1", "a number above x0, at most 1"));
}

/* fill_box has the values in the same order. The last two are there with a base only. */
static const struct reply_column flame_columns[] = {
	{"id", COLUMN_U32, NULL},     {"parent", COLUMN_U32, NULL}, {"depth", COLUMN_U16, NULL},
	{"x0", COLUMN_F64, NULL},     {"x1", COLUMN_F64, NULL},     {"name", COLUMN_U32, NULL},
	{"module", COLUMN_U32, NULL}, {"file", COLUMN_U32, NULL},   {"line", COLUMN_U32, NULL},
	{"self", COLUMN_F64, NULL},   {"total", COLUMN_F64, NULL},  {"sev", COLUMN_U8, NULL},
	{"point", COLUMN_U32, NULL},  {"flags", COLUMN_U8, NULL},   {"n_merged", COLUMN_U32, NULL},
	{"base", COLUMN_F64, NULL},   {"delta", COLUMN_F64, NULL}};
enum { FLAME_COLUMNS = sizeof flame_columns / sizeof *flame_columns };

static void fill_box(struct reply_columns *table, u64 row, double *values)
{
	const struct flame_box *box = &((const struct flame_view *)table->from)->boxes.data[row];
	const u32 name = reply_string(table, box->name), module = reply_string(table, box->module);
	const double all[FLAME_COLUMNS] = {box->id,
					   box->parent,
					   box->depth,
					   box->x0,
					   box->x1,
					   name,
					   module,
					   reply_string(table, box->file),
					   box->line,
					   box->self,
					   box->total,
					   box->severity,
					   box->point < 0 ? UINT32_MAX : (double)box->point,
					   box->flags,
					   box->merged,
					   box->base,
					   box->total - box->base};

	memcpy(values, all, table->column_count * sizeof *values);
}

/* Calls that only the base has: where they would hang, and what they weigh. */
static void put_gone(struct json *json, const void *list, u64 i)
{
	const struct flame_view *view = list;

	put_object(json, NULL, FIELD("parent", view->gone.data[i].parent),
		   FIELD("fn", view->gone.data[i].name), FIELD("base", view->gone.data[i].base));
}

/* What the root is part of, outermost first. */
static void put_path(struct json *json, const void *list, u64 i)
{
	const struct flame_box *box = &((const struct flame_view *)list)->path.data[i];

	put_object(json, NULL, FIELD("id", box->id), FIELD("name", box->name),
		   FIELD("module", box->module), FIELD("total", box->total));
}

static void reply_flame(struct call *call, const struct flame_query *query,
			const struct flame_view *view)
{
	struct reply_columns table = {.columns = flame_columns,
				      .column_count =
					      query->base ? FLAME_COLUMNS : FLAME_COLUMNS - 2,
				      .rows = view->boxes.count,
				      .fill = fill_box,
				      .from = view,
				      .truncated = view->truncated};
	bool compared = query->base;

	reply_columns_send(
		call, &table,
		MEMBERS(FIELD("metric", view_metric_name(query->metric)),
			FIELD("unit", view_metric_unit(query->metric)), FIELD("total", view->total),
			FIELD("root_total", view->root_total), FIELD("nodes_all", view->nodes_all),
			FIELD("max_depth", view->max_depth), FIELD("at", view->at_ns),
			LIST("path", view->path.count, put_path, view),
			field_when(compared, FIELD("base_total", view->base_total)),
			field_when(compared, FIELD("gone_total", view->gone_total)),
			field_when(compared, LIST("gone", view->gone.count, put_gone, view))));
}

void api_flame(struct call *call)
{
	struct flame_view view = {0};
	struct flame_query query;
	struct err err = {0};

	if (!flame_read(call, &query) || !call_base(call))
		return;
	query.base = call_is_compared(call) ? &call->base : NULL;
	if (flame_view_make(&view, &call->scope, &query, &err) < 0)
		call_fail(call, &err);
	else
		reply_flame(call, &query, &view);
	flame_view_release(&view);
}

static void put_first(struct json *json, const void *boxes, u64 i)
{
	json_number(json, NULL, ((const u32 *)boxes)[i]);
}

void api_flame_search(struct call *call)
{
	struct flame_search found;
	struct flame_query query;
	struct err err = {0};

	if (!flame_read(call, &query))
		return;
	if (flame_search_make(&found, &call->scope, &query, &err) < 0)
		call_fail(call, &err);
	else
		reply_object(call, found.frames > FLAME_FIRST, FIELD("frames", found.frames),
			     FIELD("total", found.total),
			     FIELD("pct", found.whole > 0 ? 100 * found.total / found.whole : 0),
			     LIST("first", found.first_count, put_first, found.first));
}

/* ---- timeline ---- */

static bool timeline_read(struct call *call, struct timeline_query *query)
{
	*query = (struct timeline_query){.bins = 800, .top = 12};
	return call_choice(call, "by", view_by_parse, &query->by,
			   "none, type, module, thread, point, size, sev, color or fn") &&
	       call_choice(call, "metric", view_flow_parse, &query->flow,
			   "live, chunks, allocs, frees or alloc_bytes") &&
	       call_u32(call, "bins", 1, AXIS_BINS_MAX, &query->bins) &&
	       call_u32(call, "top", 1, TIMELINE_SERIES_MAX - 1, &query->top) &&
	       (query->by != BY_COLOR || call_colors(call));
}

struct timeline_answer {
	struct timeline_view view;
	enum view_by by;
};

static struct named_value *series_fields(struct named_value to[5],
					 const struct timeline_series *series, u32 bins,
					 enum view_by by)
{
	bool named = series->label;
	const char *color = named && *series->label == '#' ? series->label : NULL;

	to[0] = field_when(named, FIELD("key", series->key));
	to[1] = field_when(named, FIELD("label", series->label));
	to[2] = field_when(named && by == BY_COLOR, FIELD("color", color));
	to[3] = FIELD("peak", series->peak);
	to[4] = REALS("last", series->last, bins);
	return to;
}

static void put_series(struct json *json, const void *list, u64 i)
{
	const struct timeline_answer *self = list;
	struct named_value fields[5];

	series_fields(fields, &self->view.series.data[i], self->view.axis.bins, self->by);
	put_fields(json, field_object(NULL, fields, 5));
}

static struct named_value curve_field(const char *name, struct call *call,
				      const struct timeline_view *view)
{
	u32 bins = view->axis.bins;

	return KEPT(name, call, REALS("min", view->total.min, bins),
		    REALS("max", view->total.max, bins), REALS("last", view->total.last, bins));
}

static void put_mark(struct json *json, const void *marks, u64 i)
{
	const struct timeline_mark *mark = &((const struct timeline_mark *)marks)[i];

	put_object(json, NULL, FIELD("t", mark->t_ns), FIELD("kind", mark->kind),
		   FIELD("label", *mark->name ? mark->name : mark->kind));
}

/* base: the other trace on the same bins, or NULL. */
static void reply_timeline(struct call *call, const struct timeline_answer *self,
			   const struct timeline_view *base)
{
	const struct timeline_view *view = &self->view;
	u32 bins = view->axis.bins;
	struct named_value other[5];

	reply_object(call, view->has_other, FIELD("t0", view->axis.from_ns),
		     FIELD("t1", view->axis.to_ns), FLAG("exact", view->total.exact),
		     LIST("t", bins, put_axis_end, &view->axis), curve_field("total", call, view),
		     LIST("series", view->series.count, put_series, self),
		     field_if(view->has_other,
			      field_object("other",
					   series_fields(other, &view->other, bins, BY_NONE), 5)),
		     FIELD("other_keys", view->other_keys),
		     field_if(view->rss, REALS("rss", view->rss, bins)),
		     LIST("marks", view->marks.count, put_mark, view->marks.data),
		     base ? curve_field("base", call, base) : ABSENT);
}

/* Both on one axis: from the start to the end of the longer run, unless there is a window. */
static void share_axis(struct view_scope *scope, struct view_scope *base)
{
	u64 ours = model_duration_ns(scope->trace->model),
	    theirs = model_duration_ns(base->trace->model);

	if (scope->window.to_ns)
		return;
	scope->window.to_ns = base->window.to_ns = ours > theirs ? ours : theirs;
}

void api_timeline(struct call *call)
{
	struct timeline_answer self = {0};
	struct timeline_view other = {0};
	struct timeline_query query, line;
	struct err err = {0};
	int status = 0;

	if (!timeline_read(call, &query) || !call_base(call))
		return;
	if (call_is_compared(call)) {
		share_axis(&call->scope, &call->base);
		line = query;
		line.by = BY_NONE;
		status = timeline_view_make(&other, &call->base, &line, &err);
	}
	self.by = query.by;
	if (status == 0)
		status = timeline_view_make(&self.view, &call->scope, &query, &err);
	if (status == 0 && call_is_compared(call)) {
		timeline_view_end(&self.view, model_duration_ns(call->trace->model));
		timeline_view_end(&other, model_duration_ns(call->base.trace->model));
	}
	if (status < 0)
		call_fail(call, &err);
	else
		reply_timeline(call, &self, call_is_compared(call) ? &other : NULL);
	timeline_view_release(&self.view);
	timeline_view_release(&other);
}
