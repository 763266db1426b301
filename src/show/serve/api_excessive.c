/* SPDX-License-Identifier: MIT
 * Frequency and life of allocation objects over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/emad/excessive.h"
#include "show/render/render.h"
#include "show/serve/api.h"

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
	static const double any[] = {0, 1e12};
	const char *text = call_text(call, "mu");

	query->has_mu = text && strcmp(text, "auto") != 0;
	return !query->has_mu ||
	       call_real(call, "mu", any, "a number of at least 0, or auto", &query->mu);
}

static bool method_read(struct call *call, struct excessive_query *query)
{
	u32 method = BY_BOTH - BY_KMEANS, by = 0, rule = 0;
	bool right = call_word(call, "method", "kmeans, iqr or both", &method) &&
		     call_word(call, "by", "object or caller", &by) &&
		     call_word(call, "rule", "robust or paper", &rule);

	query->methods = BY_KMEANS + method;
	query->by_caller = by;
	query->paper = rule;
	return right;
}

static bool query_read(struct call *call, struct judged *self)
{
	static const double percents[] = {0, 100};
	struct excessive_query *query = &self->query;
	const char *wrappers = call_text(call, "wrappers");
	double percent = 1;
	struct err err = {0};
	bool log = true;

	*query = (struct excessive_query){.seed = 1,
					  .top = 10,
					  .restarts = 10,
					  .objects = OBJECTS_MAX,
					  .wrappers = &self->wrappers,
					  .info = &call->trace->info};
	self->rows_max = OBJECTS_MAX;
	if (!method_read(call, query) || !mu_read(call, query) ||
	    !call_u32(call, "k", 2, KMEANS_MAX, &query->k) ||
	    !call_number(call, "seed", 0, UINT64_MAX, &query->seed) ||
	    !call_u32(call, "restarts", 1, 1000, &query->restarts) ||
	    !call_number(call, "n", 1, OBJECTS_MAX, &self->rows_max) ||
	    !call_number(call, "top", 0, ROWS_MAX, &query->top) || !call_bool(call, "log", &log) ||
	    !call_bool(call, "all", &query->all_paths) ||
	    !call_real(call, "floor", percents, "a percentage", &percent))
		return false;
	query->floor = percent / 100;
	query->raw = !log;
	return wrappers_parse(&self->wrappers, wrappers ? wrappers : "auto", &err) == 0 ||
	       call_bad(call, "wrappers", err.text);
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
	struct map by_object; /* row + 1 */
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
	const u64 *known = map_find(&base->by_object, object_key(found, row));

	return known ? &base->judged.found.rows.data[*known - 1] : NULL;
}

struct objects {
	const struct excessive *found;
	const struct objects_base *base;
};

static void fill_object(struct reply_columns *table, u64 i, double *values)
{
	const struct objects *self = table->from;
	const struct excessive *found = self->found;
	const struct excessive_row *was = base_row(self->base, found, i);
	const struct excessive_row *row = &found->rows.data[i];
	const struct alloc_object *object = &found->objects.rows.data[row->object];
	/* Strings are numbered as they are met. */
	const u32 caller = reply_string(table, object_routine(&found->objects, object->caller));
	const u32 destroyer =
		reply_string(table, object_routine(&found->objects, object->destroyer));
	const double all[OBJECT_COLUMNS] = {(double)i,
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

	memcpy(values, all, table->column_count * sizeof *values);
}

static void put_cluster(struct json *json, const void *list, u64 i)
{
	const struct excessive *found = list;

	put_object(json, NULL, FIELD("n", found->clusters.members[i]),
		   FIELD("freq", found->mean_frequency[i]),
		   FIELD("life", found->mean_life_ms[i] * 1e6),
		   FLAG("excessive", found->guilty == i));
}

static bool base_find(struct call *call, struct objects_base *self)
{
	struct call other = *call;
	struct err err = {0};

	if (!call_base_part(call) || !call_is_compared(call))
		return !call->answer->status;
	other.trace = call->base_part;
	if (!query_read(&other, &self->judged))
		return false;
	if (judge(&other, &self->judged, &err) < 0) {
		call_fail(call, &err);
		return false;
	}
	for (u64 i = self->judged.found.rows.count; i-- > 0;)
		map_put(&self->by_object, object_key(&self->judged.found, i), i + 1);
	return true;
}

static void reply_objects(struct call *call, const struct judged *judged,
			  const struct objects_base *base)
{
	const struct excessive *found = &judged->found;
	const struct tick_clock *clock = &call->trace->model->clock;
	bool iqr = (found->query->methods & BY_IQR) && found->enough;
	bool kmeans = found->query->methods & BY_KMEANS;
	u64 count = found->rows.count;
	struct reply_columns table = {.columns = object_columns,
				      .column_count = call_is_compared(call) ? OBJECT_COLUMNS
									     : OBJECT_COLUMNS - 3,
				      .rows = result_top(count, judged->rows_max),
				      .fill = fill_object,
				      .from = &(struct objects){found, base},
				      .truncated = judged->rows_max < count};
	struct strbuf words = {0};

	excessive_verdict(found, &words);
	reply_columns_send(
		call, &table,
		MEMBERS(FIELD("objects", count),
			FIELD("never_freed", found->objects.rows.count - count),
			LIST("clusters", kmeans ? found->clusters.k : 0, put_cluster, found),
			field_if(iqr, FIELD("q1", found->iqr.q1)),
			field_if(iqr, FIELD("q3", found->iqr.q3)),
			field_if(iqr, FIELD("iqr", found->iqr.iqr)),
			field_if(iqr, FIELD("mu", found->iqr.mu)),
			field_if(iqr, FIELD("threshold", found->iqr.threshold)),
			/* Lives count at least so long. */
			FIELD("clock_res",
			      fmax(tick_clock_span_ns(clock, 1), EXCESSIVE_LIFE_MIN_NS)),
			OBJECT("conclusion", FLAG("found", excessive_is_found(found)),
			       FLAG("enough", found->enough), FIELD("objects", found->found.count),
			       FIELD("by_kmeans", found->found_kmeans),
			       FIELD("by_iqr", found->found_iqr),
			       FIELD("words", strbuf_text(&words)))));
	strbuf_release(&words);
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
	map_release(&base.by_object);
	judged_release(&base.judged);
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
