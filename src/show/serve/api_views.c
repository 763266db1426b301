/* SPDX-License-Identifier: MIT
 * Flame graph and timeline over HTTP. Runs on threads of the server. */
#include <math.h>
#include <string.h>

#include "show/serve/reply.h"
#include "study/layout/flame.h"
#include "study/layout/timeline.h"

/* ---- flame ---- */

static bool dir_read(struct call *call, struct flame_query *query)
{
	const char *dir = call_text(call, "dir");

	query->pivot = call_text(call, "pivot");
	if (!dir || strcmp(dir, "down") == 0)
		query->dir = FLAME_DOWN;
	else if (strcmp(dir, "up") == 0)
		query->dir = FLAME_UP;
	else if (strcmp(dir, "pivot") == 0)
		query->dir = FLAME_PIVOT;
	else
		return call_bad(call, "dir", "down, up or pivot");
	if (query->dir == FLAME_PIVOT && !query->pivot)
		return call_bad(call, "pivot", "the name of a function");
	if (query->dir != FLAME_PIVOT)
		query->pivot = NULL;
	return true;
}

static bool flame_read(struct call *call, struct flame_query *query)
{
	const char *metric = call_text(call, "metric");
	u64 root = 0, px = 1600;

	*query = (struct flame_query){.metric = METRIC_BYTES,
				      .at_ns = call->at_ns,
				      .fold_recursion = true,
				      .hide = call_text(call, "hide"),
				      .search = call_text(call, "s"),
				      .x1 = 1};
	if (metric && !view_metric_parse(metric, &query->metric))
		return call_bad(call, "metric",
				"allocs, bytes, peak, live, kept, temporary, alloc_time, "
				"chunks_live or idle");
	if (!dir_read(call, query) || !call_bool(call, "rec", &query->fold_recursion) ||
	    !call_bool(call, "fold", &query->fold_library) ||
	    !call_number(call, "root", 0, UINT32_MAX - 1, &root) ||
	    !call_number(call, "px", 16, 16384, &px))
		return false;
	query->root = (u32)root;
	query->px = (u32)px;
	if (!parameter_real(call->request, "x0", 0, 1, &query->x0))
		return call_bad(call, "x0", "a number from 0 to 1");
	if (!parameter_real(call->request, "x1", 0, 1, &query->x1) || query->x1 <= query->x0)
		return call_bad(call, "x1", "a number above x0, at most 1");
	return true;
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

static void fill_box(struct reply_columns *table, u64 row, const struct flame_box *box)
{
	const u32 name = reply_string(table, box->name), module = reply_string(table, box->module);
	const double values[FLAME_COLUMNS] = {box->id,
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

	reply_set_row(table, row, values);
}

struct flame_head {
	const struct flame_query *query;
	const struct flame_view *view;
};

/* Calls that only the base has: where they would hang, and what they weigh. */
static void put_gone(struct json *json, const struct flame_view *view)
{
	put_fields(json, FIELD("base_total", view->base_total),
		   FIELD("gone_total", view->gone_total));
	json_open_flat(json, "gone", '[');
	for (u64 i = 0; i < view->gone.count; i++)
		put_object(json, NULL, FIELD("parent", view->gone.data[i].parent),
			   FIELD("fn", view->gone.data[i].name),
			   FIELD("base", view->gone.data[i].base));
	json_close(json, ']');
}

/* What the root is part of, outermost first. */
static void put_path(struct json *json, const struct flame_view *view)
{
	json_open_flat(json, "path", '[');
	for (u64 i = 0; i < view->path.count; i++) {
		const struct flame_box *box = &view->path.data[i];

		put_object(json, NULL, FIELD("id", box->id), FIELD("name", box->name),
			   FIELD("module", box->module), FIELD("total", box->total));
	}
	json_close(json, ']');
}

static void put_flame_head(struct call *call, const void *data)
{
	const struct flame_head *head = data;

	put_fields(&call->json, FIELD("metric", view_metric_name(head->query->metric)),
		   FIELD("unit", view_metric_unit(head->query->metric)),
		   FIELD("total", head->view->total), FIELD("root_total", head->view->root_total),
		   FIELD("nodes_all", head->view->nodes_all),
		   FIELD("max_depth", head->view->max_depth), FIELD("at", head->view->at_ns));
	put_path(&call->json, head->view);
	if (head->query->base)
		put_gone(&call->json, head->view);
}

static void reply_flame(struct call *call, const struct flame_query *query,
			const struct flame_view *view)
{
	struct flame_head head = {query, view};
	struct reply_columns table = {0};
	u32 columns = query->base ? FLAME_COLUMNS : FLAME_COLUMNS - 2;

	if (reply_columns_init(&table, flame_columns, columns, view->boxes.count)) {
		for (u64 i = 0; i < view->boxes.count; i++)
			fill_box(&table, i, &view->boxes.data[i]);
		reply_columns_send(call, &table, view->truncated, put_flame_head, &head);
	} else {
		answer_refuse(call->answer, 500, "out of memory");
	}
	reply_columns_release(&table);
}

void api_flame(struct call *call)
{
	struct flame_view view = {0};
	struct view_scope base = {0};
	struct flame_query query;
	struct err err = {0};
	bool compared;

	if (flame_read(call, &query) && call_base(call, &base, &compared)) {
		query.base = compared ? &base : NULL;
		if (flame_view_make(&view, &call->scope, &query, &err) < 0)
			call_fail(call, &err);
		else
			reply_flame(call, &query, &view);
	}
	flame_view_release(&view);
	view_scope_release(&base);
}

void api_flame_search(struct call *call)
{
	struct flame_search found;
	struct flame_query query;
	struct err err = {0};

	if (!flame_read(call, &query))
		return;
	if (flame_search_make(&found, &call->scope, &query, &err) < 0) {
		call_fail(call, &err);
		return;
	}
	if (!reply_begin(call, found.frames > FLAME_FIRST))
		return;
	json_open_flat(&call->json, "data", '{');
	put_fields(&call->json, FIELD("frames", found.frames), FIELD("total", found.total),
		   FIELD("pct", found.whole > 0 ? 100 * found.total / found.whole : 0));
	json_open_flat(&call->json, "first", '[');
	for (u32 i = 0; i < found.first_count; i++)
		json_number(&call->json, NULL, found.first[i]);
	json_close(&call->json, ']');
	json_close(&call->json, '}');
	reply_end(call);
}

/* ---- timeline ---- */

static bool timeline_read(struct call *call, struct timeline_query *query)
{
	const char *by = call_text(call, "by"), *metric = call_text(call, "metric");
	u64 bins = 800, top = 12;

	*query = (struct timeline_query){0};
	if (by && !view_by_parse(by, &query->by))
		return call_bad(call, "by",
				"none, type, module, thread, point, size, sev, color or fn");
	if (metric && !view_flow_parse(metric, &query->flow))
		return call_bad(call, "metric", "live, chunks, allocs, frees or alloc_bytes");
	if (!call_number(call, "bins", 1, AXIS_BINS_MAX, &bins) ||
	    !call_number(call, "top", 1, TIMELINE_SERIES_MAX - 1, &top))
		return false;
	query->bins = (u32)bins;
	query->top = (u32)top;
	return query->by != BY_COLOR || call_colors(call);
}

static void put_series(struct json *json, const char *key, const struct timeline_series *series,
		       u32 bins, enum view_by by)
{
	json_open_flat(json, key, '{');
	if (series->label) {
		put_fields(json, FIELD("key", series->key), FIELD("label", series->label));
		if (by == BY_COLOR)
			json_text(json, "color", *series->label == '#' ? series->label : NULL);
	}
	json_real(json, "peak", series->peak);
	put_reals(json, "last", series->last, bins);
	json_close(json, '}');
}

static void put_curve(struct json *json, const char *key, const struct timeline_view *view)
{
	u32 bins = view->axis.bins;

	json_open_flat(json, key, '{');
	put_reals(json, "min", view->total.min, bins);
	put_reals(json, "max", view->total.max, bins);
	put_reals(json, "last", view->total.last, bins);
	json_close(json, '}');
}

static void put_total(struct json *json, const struct timeline_view *view)
{
	u32 bins = view->axis.bins;

	json_open_flat(json, "t", '[');
	for (u32 i = 0; i < bins; i++)
		json_number(json, NULL, time_axis_end(&view->axis, i));
	json_close(json, ']');
	put_curve(json, "total", view);
}

static void put_marks(struct json *json, const struct timeline_view *view)
{
	json_open_flat(json, "marks", '[');
	for (u64 i = 0; i < view->marks.count; i++) {
		const struct timeline_mark *mark = &view->marks.data[i];

		put_object(json, NULL, FIELD("t", mark->t_ns), FIELD("kind", mark->kind),
			   FIELD("label", *mark->name ? mark->name : mark->kind));
	}
	json_close(json, ']');
}

/* base: the other trace on the same bins, or NULL. */
static void put_timeline(struct json *json, const struct timeline_view *view,
			 const struct timeline_view *base, enum view_by by)
{
	u32 bins = view->axis.bins;

	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("t0", view->axis.from_ns), FIELD("t1", view->axis.to_ns),
		   FLAG("exact", view->total.exact));
	put_total(json, view);
	json_open_flat(json, "series", '[');
	for (u64 i = 0; i < view->series.count; i++)
		put_series(json, NULL, &view->series.data[i], bins, by);
	json_close(json, ']');
	if (view->has_other)
		put_series(json, "other", &view->other, bins, BY_NONE);
	else
		json_null(json, "other");
	json_number(json, "other_keys", view->other_keys);
	if (view->rss)
		put_reals(json, "rss", view->rss, bins);
	else
		json_null(json, "rss");
	put_marks(json, view);
	if (base)
		put_curve(json, "base", base);
	json_close(json, '}');
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
	struct timeline_view view = {0}, other = {0};
	struct view_scope base = {0};
	struct timeline_query query, line;
	struct err err = {0};
	bool compared = false;
	int status = 0;

	if (!timeline_read(call, &query) || !call_base(call, &base, &compared)) {
		view_scope_release(&base);
		return;
	}
	if (compared) {
		share_axis(&call->scope, &base);
		line = query;
		line.by = BY_NONE;
		status = timeline_view_make(&other, &base, &line, &err);
	}
	if (status < 0 || timeline_view_make(&view, &call->scope, &query, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, view.has_other)) {
		put_timeline(&call->json, &view, compared ? &other : NULL, query.by);
		reply_end(call);
	}
	timeline_view_release(&view);
	timeline_view_release(&other);
	view_scope_release(&base);
}
