/* SPDX-License-Identifier: MIT
 * Frequency and life of allocation objects over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/emad/excessive.h"
#include "show/render/render.h"
#include "show/serve/reply.h"

enum { OBJECTS_MAX = 20000, ROWS_MAX = 500 };

/* All that one answer needs of the analysis. */
struct judged {
	struct wrappers wrappers;
	struct excessive_query query;
	struct excessive found;
	u64 rows_max; /* of the data set */
};

static bool mu_read(struct call *call, struct excessive_query *query)
{
	const char *text = call_text(call, "mu");

	if (!text || strcmp(text, "auto") == 0)
		return true;
	query->has_mu = true;
	return parameter_real(call->request, "mu", 0, 1e12, &query->mu) ||
	       call_bad(call, "mu", "a number of at least 0, or auto");
}

static bool method_read(struct call *call, struct excessive_query *query)
{
	const char *method = call_text(call, "method"), *rule = call_text(call, "rule"),
		   *by = call_text(call, "by");

	query->methods = BY_BOTH;
	if (method && strcmp(method, "kmeans") == 0)
		query->methods = BY_KMEANS;
	else if (method && strcmp(method, "iqr") == 0)
		query->methods = BY_IQR;
	else if (method && strcmp(method, "both") != 0)
		return call_bad(call, "method", "kmeans, iqr or both");
	query->by_caller = by && strcmp(by, "caller") == 0;
	if (by && !query->by_caller && strcmp(by, "object") != 0)
		return call_bad(call, "by", "object or caller");
	query->paper = rule && strcmp(rule, "paper") == 0;
	return !rule || query->paper || strcmp(rule, "robust") == 0 ||
	       call_bad(call, "rule", "robust or paper");
}

static bool query_read(struct call *call, struct judged *self)
{
	struct excessive_query *query = &self->query;
	const char *wrappers = call_text(call, "wrappers");
	double percent = 1;
	u64 k = 0, restarts = 10, n = OBJECTS_MAX;
	struct err err = {0};
	bool log = true;

	*query = (struct excessive_query){.seed = 1,
					  .top = 10,
					  .objects = OBJECTS_MAX,
					  .info = &call->trace->info};
	if (!method_read(call, query) || !mu_read(call, query) ||
	    !call_number(call, "k", 2, KMEANS_MAX, &k) ||
	    !call_number(call, "seed", 0, UINT64_MAX, &query->seed) ||
	    !call_number(call, "restarts", 1, 1000, &restarts) ||
	    !call_number(call, "n", 1, OBJECTS_MAX, &n) ||
	    !call_number(call, "top", 0, ROWS_MAX, &query->top) || !call_bool(call, "log", &log) ||
	    !call_bool(call, "all", &query->all_paths))
		return false;
	if (!parameter_real(call->request, "floor", 0, 100, &percent))
		return call_bad(call, "floor", "a percentage");
	self->rows_max = n;
	query->floor = percent / 100;
	query->k = (u32)k;
	query->restarts = (u32)restarts;
	query->raw = !log;
	query->wrappers = &self->wrappers;
	if (wrappers_parse(&self->wrappers, wrappers ? wrappers : "auto", &err) < 0)
		return call_bad(call, "wrappers", err.text);
	return true;
}

static int judge(struct call *call, struct judged *self, struct err *err)
{
	const struct callgraph *graph = NULL;
	int status;

	if (call->trace->info.routines) {
		graph = study_callgraph(call->trace, err);
		if (!graph)
			return err->code;
	}
	if (graph && !graph->from_stacks && graph->edges.count)
		self->query.routines = graph;
	pthread_mutex_lock(&call->trace->analysis_lock);
	status = excessive_find(&self->found, &call->trace->stacks, &self->query, err);
	pthread_mutex_unlock(&call->trace->analysis_lock);
	return status;
}

static void judged_release(struct judged *self)
{
	excessive_release(&self->found);
	wrappers_release(&self->wrappers);
}

/* As the command prints it. */
void api_excessive(struct call *call)
{
	struct judged judged = {0};
	struct err err = {0};

	if (query_read(call, &judged)) {
		struct result *result = NULL;

		if (judge(call, &judged, &err) == 0)
			result = excessive_result(&judged.found, &err);
		call->truncated = judged.found.rows.count > OBJECTS_MAX;
		reply_result(call, result, &err);
	}
	judged_release(&judged);
}

/* ---- the data set ---- */

/* fill_object has the values in the same order. The last three are there with a base only. */
static const struct reply_column object_columns[] = {
	{"id", COLUMN_U32, NULL},        {"caller", COLUMN_U32, NULL},
	{"size", COLUMN_F64, NULL},      {"destroyer", COLUMN_U32, NULL},
	{"freq", COLUMN_F64, NULL},      {"life", COLUMN_F64, NULL},
	{"ratio", COLUMN_F64, NULL},     {"cluster", COLUMN_U8, NULL},
	{"flag", COLUMN_U8, NULL},       {"base_freq", COLUMN_F64, NULL},
	{"base_life", COLUMN_F64, NULL}, {"base_ratio", COLUMN_F64, NULL}};
enum { OBJECT_COLUMNS = sizeof object_columns / sizeof *object_columns };

/* The objects of another trace, by what they are. */
struct objects_base {
	struct judged judged;
	struct view_scope scope;
	struct study *trace;  /* or the part of it */
	struct map by_object; /* row + 1 */
	bool given;
};

static u64 object_key(const struct excessive *found, u64 row)
{
	const struct alloc_object *object = &found->objects.rows.data[found->rows.data[row].object];
	u64 hash = hash_text(HASH_START, object_routine(&found->objects, object->caller));

	hash = hash_text(hash, object_routine(&found->objects, object->destroyer));
	return hash_u64(hash ^ object->size);
}

static const struct excessive_row *base_row(const struct objects_base *base,
					    const struct excessive *found, u64 row)
{
	const u64 *known = base->given ? map_find(&base->by_object, object_key(found, row)) : NULL;

	return known ? &base->judged.found.rows.data[*known - 1] : NULL;
}

static void fill_object(struct reply_columns *table, const struct excessive *found, u64 i,
			const struct objects_base *base)
{
	const struct excessive_row *was = base_row(base, found, i);
	const struct excessive_row *row = &found->rows.data[i];
	const struct alloc_object *object = &found->objects.rows.data[row->object];
	/* Strings are numbered as they are met. */
	const u32 caller = reply_string(table, object_routine(&found->objects, object->caller));
	const u32 destroyer =
		reply_string(table, object_routine(&found->objects, object->destroyer));
	const double values[OBJECT_COLUMNS] = {(double)i,
					       caller,
					       (double)object->size,
					       destroyer,
					       row->frequency,
					       row->life_ms * 1e6,
					       row->ratio,
					       row->cluster == UINT8_MAX ? 0 : row->cluster + 1,
					       row->found_by,
					       was ? was->frequency : NAN,
					       was ? was->life_ms * 1e6 : NAN,
					       was ? was->ratio : NAN};

	reply_set_row(table, i, values);
}

static void put_clusters(struct json *json, const struct excessive *found)
{
	json_open_flat(json, "clusters", '[');
	for (u32 i = 0; (found->query->methods & BY_KMEANS) && i < found->clusters.k; i++)
		put_object(json, NULL, FIELD("n", found->clusters.members[i]),
			   FIELD("freq", found->mean_frequency[i]),
			   FIELD("life", found->mean_life_ms[i] * 1e6),
			   FLAG("excessive", found->guilty == i));
	json_close(json, ']');
}

static void put_verdict(struct json *json, const struct excessive *found)
{
	struct strbuf words = {0};

	excessive_verdict(found, &words);
	put_object(json, "conclusion", FLAG("found", excessive_is_found(found)),
		   FLAG("enough", found->enough), FIELD("objects", found->found.count),
		   FIELD("by_kmeans", found->found_kmeans), FIELD("by_iqr", found->found_iqr),
		   FIELD("words", strbuf_text(&words)));
	strbuf_release(&words);
}

static void put_emad_head(struct call *call, const void *data)
{
	const struct excessive *found = data;
	bool iqr = (found->query->methods & BY_IQR) && found->enough;
	struct json *json = &call->json;

	const struct tick_clock *clock = &call->trace->model->clock;

	put_fields(json, FIELD("objects", found->rows.count),
		   FIELD("never_freed", found->objects.rows.count - found->rows.count));
	put_clusters(json, found);
	put_fields(json, field_if(iqr, FIELD("q1", found->iqr.q1)),
		   field_if(iqr, FIELD("q3", found->iqr.q3)),
		   field_if(iqr, FIELD("iqr", found->iqr.iqr)),
		   field_if(iqr, FIELD("mu", found->iqr.mu)),
		   field_if(iqr, FIELD("threshold", found->iqr.threshold)),
		   /* Lives count at least so long. */
		   FIELD("clock_res", fmax(tick_clock_span_ns(clock, 1), EXCESSIVE_LIFE_MIN_NS)));
	put_verdict(json, found);
}

static bool base_find(struct call *call, struct objects_base *self)
{
	struct call other = *call;
	struct err err = {0};

	if (!call_base(call, &self->scope, &self->given) || !self->given)
		return call->answer->status == 0;
	self->trace = call_part(call, &self->scope, &err);
	other.trace = self->trace;
	if (!self->trace || !query_read(&other, &self->judged) ||
	    judge(&other, &self->judged, &err) < 0) {
		if (!call->answer->status)
			call_fail(call, &err);
		return false;
	}
	for (u64 i = self->judged.found.rows.count; i-- > 0;)
		map_put(&self->by_object, object_key(&self->judged.found, i), i + 1);
	return true;
}

static void base_release(struct call *call, struct objects_base *self)
{
	map_release(&self->by_object);
	judged_release(&self->judged);
	if (self->trace)
		call_part_put(call, &self->scope, self->trace);
	view_scope_release(&self->scope);
}

static void reply_objects(struct call *call, const struct judged *judged,
			  const struct objects_base *base)
{
	u64 count = judged->found.rows.count;
	u64 rows = count < judged->rows_max ? count : judged->rows_max;
	struct reply_columns table = {0};

	if (reply_columns_init(&table, object_columns,
			       base->given ? OBJECT_COLUMNS : OBJECT_COLUMNS - 3, rows)) {
		for (u64 i = 0; i < rows; i++)
			fill_object(&table, &judged->found, i, base);
		reply_columns_send(call, &table, rows < count, put_emad_head, &judged->found);
	} else {
		answer_refuse(call->answer, 500, "out of memory");
	}
	reply_columns_release(&table);
}

void api_emad(struct call *call)
{
	struct objects_base base = {0};
	struct judged judged = {0};
	struct err err = {0};

	if (query_read(call, &judged) && base_find(call, &base)) {
		if (judge(call, &judged, &err) < 0)
			call_fail(call, &err);
		else
			reply_objects(call, &judged, &base);
	}
	base_release(call, &base);
	judged_release(&judged);
}

/* Of any object, whether it was found or not. */
void api_emad_tree(struct call *call)
{
	struct judged judged = {0};
	struct result *result = NULL;
	struct err err = {0};
	u64 row;

	if (!query_read(call, &judged)) {
		judged_release(&judged);
		return;
	}
	if (judge(call, &judged, &err) < 0) {
		call_fail(call, &err);
	} else if (call_index(call, 0, "object", judged.found.rows.count, &row)) {
		vec_clear(&judged.found.found);
		if (vec_push(&judged.found.found, (u32)row)) {
			pthread_mutex_lock(&call->trace->analysis_lock);
			result = excessive_paths(&judged.found);
			pthread_mutex_unlock(&call->trace->analysis_lock);
		}
		err_memory(&err);
		reply_result(call, result, &err);
	}
	judged_release(&judged);
}
