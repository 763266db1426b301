/* SPDX-License-Identifier: MIT
 * What the commands of heapwise print, over HTTP: the same results, rendered as JSON. Runs on threads of
 * the server; analyses take turns. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "study/analysis/emad/excessive.h"
#include "study/analysis/leaks/report.h"
#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/bins.h"
#include "study/analysis/mprof/direct.h"
#include "study/analysis/mprof/graph.h"
#include "study/analysis/mprof/leaks.h"
#include "study/analysis/report/report.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/types/result.h"
#include "study/analysis/findings/unnamed.h"
#include "host/base/units.h"
#include "show/render/render.h"
#include "show/serve/api.h"
#include "show/serve/beside.h"

enum { ROWS_MAX = 500 };

/* Leaves the rows of a page; true if there are more. */
static bool cut(struct result *table, u64 offset, u64 limit)
{
	u64 rows = result_rows(table), columns = table->columns.count;
	u64 first = offset < rows ? offset : rows;
	u64 left = rows - first < limit ? rows - first : limit;

	if (left)
		memmove(table->cells.data, table->cells.data + first * columns,
			left * columns * sizeof *table->cells.data);
	table->cells.count = left * columns;
	return first + left < rows;
}

/* Answers with a table, a page of it. */
static void reply_table(struct call *call, struct result *table, const struct err *err)
{
	u64 offset = 0, limit = ROWS_MAX;
	bool more;

	if (table && (!call_number(call, "offset", 0, UINT32_MAX, &offset) ||
		      !call_number(call, "limit", 1, ROWS_MAX, &limit))) {
		result_free(table);
		return;
	}
	if (!table || result_failed(table)) {
		reply_result(call, table, err);
		return;
	}
	call->rows_total = result_rows(table);
	call->has_rows_total = true;
	more = cut(table, offset, limit);
	if (reply_begin(call, more)) {
		render_json_value(&call->json, "data", table);
		reply_end(call);
	}
	result_free(table);
}

static void lock(struct call *call) { pthread_mutex_lock(&call->trace->analysis_lock); }
static void unlock(struct call *call) { pthread_mutex_unlock(&call->trace->analysis_lock); }

static u32 image_number(const struct call *call)
{
	return call->trace->info.images ? (u32)call->trace->info.images - 1 : 0;
}

/* ---- report ---- */

void api_report(struct call *call)
{
	const char *by = call_text(call, "by");
	struct report_query query = {.info = &call->trace->info,
				     .image = image_number(call),
				     .top = 5};
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &query.top) ||
	    !call_number(call, "slack", 0, UINT32_MAX, &query.temporary_slack))
		return;
	if (by && !points_by_parse(by, &query.by)) {
		call_bad(call, "by", "bytes, peak, kept, temporary or count");
		return;
	}
	query.one_list = by != NULL;
	if (study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = analyse_report(&source, &query, &err);
		unlock(call);
		if (result)
			unnamed_add_caveat(&source, false, result);
	}
	reply_result(call, result, &err);
}

/* ---- mprof ---- */

static bool verbosity_read(struct call *call, enum mprof_verbosity *verbosity)
{
	const char *word = call_text(call, "verb");

	if (!word || strcmp(word, "normal") == 0)
		*verbosity = MPROF_NORMAL;
	else if (strcmp(word, "verbose") == 0)
		*verbosity = MPROF_VERBOSE;
	else if (strcmp(word, "terse") == 0)
		*verbosity = MPROF_TERSE;
	else
		return call_bad(call, "verb", "verbose, normal or terse");
	return true;
}

struct mprof_queries {
	struct mprof_leaks_query leaks;
	struct mprof_bins_query bins;
	struct mprof_graph_query graph;
};

static bool mprof_read(struct call *call, struct mprof_queries *queries)
{
	bool types = true, cycles = false, log = false;
	u64 depth = 5;

	*queries = (struct mprof_queries){0};
	if (!verbosity_read(call, &queries->leaks.verbosity) ||
	    !call_number(call, "depth", 0, UINT32_MAX, &depth) ||
	    !call_bool(call, "offsets", &queries->leaks.offsets) ||
	    !call_bool(call, "types", &types) || !call_bool(call, "log", &log) ||
	    !call_bool(call, "cycles", &cycles))
		return false;
	queries->leaks.depth = (u32)depth;
	queries->bins.verbosity = queries->leaks.verbosity;
	queries->bins.no_types = !types;
	queries->bins.log = log;
	queries->graph.keep_cycles = cycles;
	return true;
}

enum mprof_table { MPROF_LEAKS, MPROF_BINS, MPROF_DIRECT, MPROF_GRAPH };

static struct result *mprof_table(struct study *trace, const struct mprof_calls *calls,
				  enum mprof_table table, const struct mprof_queries *queries,
				  struct err *err)
{
	switch (table) {
	case MPROF_LEAKS:
		if (calls->lisp) {
			err_set(err, ERR_USAGE, "a Lisp recording has no table of leaks: objects not collected yet are "
						"not leaks");
			return NULL;
		}
		return analyse_mprof_leaks(calls, &queries->leaks, err);
	case MPROF_BINS:
		return calls->lisp ? analyse_lisp_types(calls, queries->bins.verbosity, err)
				   : analyse_mprof_bins(trace->model, &queries->bins, err);
	case MPROF_DIRECT:
		return analyse_mprof_direct(calls, err);
	case MPROF_GRAPH:
		return analyse_mprof_graph(calls, &queries->graph, err);
	}
	return NULL;
}

static void mprof_caveats(struct result *result, const struct study *trace, const struct mprof_calls *calls)
{
	add_caveats(result, trace->model, &trace->info);
	if (calls->startup.calls)
		result_add_caveat(result, "the start of Lisp itself (%s in %s objects) is left out; 'heapwise mprof "
					  "--startup' shows it",
				  units_bytes(calls->startup.bytes).text,
				  units_count(model_count(trace->model, calls->startup.calls)).text);
}

static struct result *mprof_result(struct study *trace, enum mprof_table table,
				   const struct mprof_queries *queries, struct err *err)
{
	const struct mprof_calls *calls = study_calls_folded(trace, err);
	struct result *result = NULL;

	if (calls) {
		pthread_mutex_lock(&trace->analysis_lock);
		result = mprof_table(trace, calls, table, queries, err);
		pthread_mutex_unlock(&trace->analysis_lock);
	}
	if (result)
		mprof_caveats(result, trace, calls);
	return result;
}

/* Of a Lisp types stand for sizes. */
static const char *mprof_keys(enum mprof_table table, const struct study *trace)
{
	static const char *const keys[] = {[MPROF_LEAKS] = "path",
					   [MPROF_BINS] = "size size_end",
					   [MPROF_DIRECT] = "name module",
					   [MPROF_GRAPH] = "kind name module cycle block"};

	return table == MPROF_BINS && model_is_collected(trace->model) ? "type" : keys[table];
}

/* All rows of the base: what is small there may be large here. */
static void reply_mprof_beside(struct call *call, enum mprof_table table,
			       const struct mprof_queries *queries, const struct view_scope *base)
{
	const char *keys = mprof_keys(table, call->trace);
	struct mprof_queries all = *queries;
	struct err err = {0};
	struct study *other = call_part(call, base, &err);
	struct result *ours = other ? mprof_result(call->trace, table, queries, &err) : NULL;
	struct result *theirs, *ours_all;
	u64 offset = 0, limit = ROWS_MAX;
	bool more;

	all.leaks.verbosity = all.bins.verbosity = MPROF_VERBOSE;
	theirs = ours ? mprof_result(other, table, &all, &err) : NULL;
	ours_all = theirs ? mprof_result(call->trace, table, &all, &err) : NULL;
	if (other && model_is_collected(other->model) != model_is_collected(call->trace->model)) {
		answer_refuse(call->answer, 400, "a Lisp recording can only be compared with another Lisp recording");
	} else if (!ours_all || result_failed(ours) || result_failed(theirs) || result_failed(ours_all)) {
		call_fail(call, &err);
	} else if (call_number(call, "offset", 0, UINT32_MAX, &offset) &&
		   call_number(call, "limit", 1, ROWS_MAX, &limit)) {
		call->rows_total = result_rows(ours);
		call->has_rows_total = true;
		more = offset < call->rows_total && limit < call->rows_total - offset;
		if (reply_begin(call, more)) {
			put_beside(call, ours, theirs, keys, offset, limit);
			put_gone_rows(call, ours_all, theirs, keys);
			cut(ours, offset, limit);
			render_json_value(&call->json, "data", ours);
			reply_end(call);
		}
	}
	result_free(ours);
	result_free(ours_all);
	result_free(theirs);
	if (other)
		call_part_put(call, base, other);
}

static void reply_mprof(struct call *call, enum mprof_table table)
{
	struct view_scope base = {0};
	struct mprof_queries queries;
	bool compared = false;
	struct err err = {0};

	if (mprof_read(call, &queries) && call_base(call, &base, &compared)) {
		if (compared)
			reply_mprof_beside(call, table, &queries, &base);
		else
			reply_table(call, mprof_result(call->trace, table, &queries, &err), &err);
	}
	view_scope_release(&base);
}

void api_mprof_leaks(struct call *call) { reply_mprof(call, MPROF_LEAKS); }
void api_mprof_bins(struct call *call) { reply_mprof(call, MPROF_BINS); }
void api_mprof_direct(struct call *call) { reply_mprof(call, MPROF_DIRECT); }
void api_mprof_graph(struct call *call) { reply_mprof(call, MPROF_GRAPH); }

/* The printable report: all tables. */
void api_mprof_text(struct call *call)
{
	struct result *result = result_new(RESULT_RECORD, "mprof", "");
	struct text_style style = {.width = 0};
	const struct mprof_calls *calls;
	struct mprof_queries queries;
	struct err err = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;

	if (!mprof_read(call, &queries) || !result) {
		result_free(result);
		return;
	}
	calls = study_calls_folded(call->trace, &err);
	if (calls) {
		lock(call);
		mprof_caveats(result, call->trace, calls);
		for (u32 i = calls->lisp ? MPROF_BINS : MPROF_LEAKS; i <= MPROF_GRAPH; i++)
			result_add_part(result, mprof_table(call->trace, calls, (enum mprof_table)i,
							    &queries, &err));
		unlock(call);
	}
	out = calls && !result_failed(result) ? open_memstream(&text, &bytes) : NULL;
	if (out) {
		render_text(result, &style, out);
		fclose(out);
		reply_text(call, "text/plain; charset=utf-8", text, bytes);
	} else {
		call_fail(call, &err);
	}
	result_free(result);
}

/* ---- scores, findings, leaks ---- */

void api_scores(struct call *call)
{
	const char *by = call_text(call, "by");
	struct scores_query query = {.top = 10,
				     .thresholds = THRESHOLDS_DEFAULT,
				     .info = &call->trace->info};
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &query.top) ||
	    !call_bool(call, "all", &query.all_inferences))
		return;
	if (by && !scores_by_parse(by, &query.by)) {
		call_bad(call, "by", "severity, bytes, count, lifetime, usage or useful");
		return;
	}
	if (study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = analyse_scores(&source, &query, &err);
		unlock(call);
	}
	reply_result(call, result, &err);
}

void api_findings(struct call *call)
{
	struct findings_show show = {.top = 10, .stacks = true};
	const struct findings *findings;
	struct stack_source source;
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "top", 0, ROWS_MAX, &show.top))
		return;
	findings = study_findings(call->trace, &err);
	if (findings && study_typed_stacks(call->trace, &source, &err) == 0) {
		lock(call);
		result = findings_report(findings, &source, &call->trace->info, &show, &err);
		unlock(call);
		if (result)
			unnamed_add_caveat(&source, false, result);
	}
	reply_result(call, result, &err);
}

static bool kinds_read(struct call *call, u32 *kinds)
{
	const char *text = call_text(call, "kinds");

	if (!text)
		text = "lost,indirect,possible,unknown";
	while (*text) {
		char word[32];
		size_t bytes = strcspn(text, ",");

		if (bytes >= sizeof word)
			return call_bad(call, "kinds", "leak kinds separated by commas");
		memcpy(word, text, bytes);
		word[bytes] = 0;
		if (!leaks_kind_parse(word, kinds))
			return call_bad(call, "kinds",
					"lost, indirect, possible, reachable, unknown or all, separated by commas");
		text += bytes;
		text += *text == ',';
	}
	return true;
}

void api_leaks(struct call *call)
{
	struct leak_report_query query = {.leaks = {.top = 20}, .info = &call->trace->info};
	struct growth_query growth = growth_defaults();
	struct suppressions suppressions = {0};
	struct leak_report report = {0};
	struct result *result = NULL;
	struct err err = {0};

	if (!kinds_read(call, &query.leaks.kinds) ||
	    !call_number(call, "top", 0, ROWS_MAX, &query.leaks.top))
		return;
	lock(call);
	if (suppressions_add_builtin(&suppressions, &err) == 0 &&
	    leak_report_make(&report, &call->trace->stacks, &call->trace->info, &growth,
			     &suppressions, &err) == 0)
		result = leak_report_result(&report, &call->trace->stacks, &suppressions, &query,
					    &err);
	unlock(call);
	reply_result(call, result, &err);
	leak_report_release(&report);
	suppressions_release(&suppressions);
}

/* ---- types ---- */

static struct result *types_result(struct study *trace, const struct types_query *query,
				   const char *fields, bool guess, struct err *err)
{
	struct type_query ask = {.source = &trace->stacks, .guess = guess};
	struct type_cascade types = {0};
	struct result *result;

	if (type_cascade_init(&types, &ask, err) < 0)
		return NULL;
	result = fields ? analyse_fields(&types, fields, err) : analyse_types(&types, query, err);
	type_cascade_release(&types);
	return result;
}

/* ---- types beside those of another trace ---- */

enum { TYPE_NUMBERS = 4 };
static const char *const type_numbers[TYPE_NUMBERS] = {"chunks", "bytes", "at_peak_bytes",
						       "kept_bytes"};

struct type_columns {
	u64 name, number[TYPE_NUMBERS];
};

static u64 column_find(const struct result *table, const char *name)
{
	u64 i = 0;

	while (i < table->columns.count && strcmp(table->columns.data[i].name, name) != 0)
		i++;
	return i;
}

static const struct result *types_table(const struct result *result, struct type_columns *columns)
{
	const struct result *table = NULL;

	for (u64 i = 0; i < result->parts.count && !table; i++)
		if (strcmp(result->parts.data[i]->name, "types") == 0)
			table = result->parts.data[i];
	if (!table)
		return NULL;
	columns->name = column_find(table, "type");
	for (u32 i = 0; i < TYPE_NUMBERS; i++)
		columns->number[i] = column_find(table, type_numbers[i]);
	return table;
}

static const char *type_name(const struct result *table, const struct type_columns *columns,
			     u64 row)
{
	const struct value *value = result_cell(table, row, columns->name);

	return value->known ? value->text : "";
}

static void put_type(struct json *json, const struct result *table,
		     const struct type_columns *columns, u64 row, const char *name)
{
	if (row == UINT64_MAX) {
		json_null(json, name);
		return;
	}
	json_open_flat(json, name, '{');
	for (u32 i = 0; i < TYPE_NUMBERS; i++)
		json_number(json, type_numbers[i],
			    result_cell(table, row, columns->number[i])->number);
	json_close(json, '}');
}

static void put_type_deltas(struct json *json, const struct result *ours, u64 our_row,
			    const struct result *theirs, u64 their_row,
			    const struct type_columns *columns)
{
	json_open_flat(json, "delta", '{');
	for (u32 i = 0; i < TYPE_NUMBERS; i++) {
		u64 now = our_row == UINT64_MAX
				  ? 0
				  : result_cell(ours, our_row, columns->number[i])->number;
		u64 then = their_row == UINT64_MAX
				   ? 0
				   : result_cell(theirs, their_row, columns->number[i])->number;

		json_real(json, type_numbers[i], (double)now - (double)then);
	}
	json_close(json, '}');
}

/* A row for each of ours, in their order, and then those that only the base has. */
static void put_types_base(struct call *call, const struct result *ours_,
			   const struct result *theirs_)
{
	struct type_columns columns;
	const struct result *ours = types_table(ours_, &columns);
	const struct result *theirs = types_table(theirs_, &columns);
	struct map by_name = {0};
	struct json *json = &call->json;

	for (u64 i = 0; i < result_rows(theirs); i++)
		map_put(&by_name, hash_text(HASH_START, type_name(theirs, &columns, i)), i + 1);
	json_open(json, "base", '[');
	for (u64 i = 0; i < result_rows(ours); i++) {
		u64 hash = hash_text(HASH_START, type_name(ours, &columns, i));
		u64 *found = map_find(&by_name, hash);
		u64 row = found && *found ? *found - 1 : UINT64_MAX;

		json_open_flat(json, NULL, '{');
		json_text(json, "type",
			  *type_name(ours, &columns, i) ? type_name(ours, &columns, i) : NULL);
		put_type(json, theirs, &columns, row, "base");
		put_type_deltas(json, ours, i, theirs, row, &columns);
		json_close(json, '}');
		if (found)
			*found = 0;
	}
	for (u64 i = 0; i < result_rows(theirs); i++) {
		u64 *left =
			map_find(&by_name, hash_text(HASH_START, type_name(theirs, &columns, i)));

		if (!left || *left != i + 1)
			continue;
		json_open_flat(json, NULL, '{');
		json_text(json, "type",
			  *type_name(theirs, &columns, i) ? type_name(theirs, &columns, i) : NULL);
		put_type(json, theirs, &columns, i, "base");
		put_type_deltas(json, ours, UINT64_MAX, theirs, i, &columns);
		json_close(json, '}');
	}
	json_close(json, ']');
	map_release(&by_name);
}

static struct result *types_of(struct study *trace, const struct types_query *query,
			       bool guess, struct err *err)
{
	const struct type_list *list = guess ? study_type_list(trace, err) : NULL;
	struct result *result;

	if (guess)
		return list ? type_list_result(list, query, err) : NULL;
	pthread_mutex_lock(&trace->analysis_lock);
	result = types_result(trace, query, NULL, guess, err);
	pthread_mutex_unlock(&trace->analysis_lock);
	return result;
}

/* All types of the base: those that are not among our first ones are no news. */
static void reply_types_beside(struct call *call, const struct view_scope *base,
			       const struct types_query *query, bool guess)
{
	struct types_query all = *query;
	struct err err = {0};
	struct study *other = call_part(call, base, &err);
	struct result *ours, *theirs;

	all.top = all.offset = 0;
	ours = other ? types_of(call->trace, &all, guess, &err) : NULL;
	theirs = ours ? types_of(other, &all, guess, &err) : NULL;
	if (!theirs || result_failed(ours) || result_failed(theirs)) {
		call_fail(call, &err);
	} else if (reply_begin(call, false)) {
		render_json_value(&call->json, "data", ours);
		put_types_base(call, ours, theirs);
		reply_end(call);
	}
	result_free(ours);
	result_free(theirs);
	if (other)
		call_part_put(call, base, other);
}

static bool types_read(struct call *call, struct types_query *query, bool *guess)
{
	const char *sort = call_text(call, "sort"), *fold = call_text(call, "fold");
	u64 spark = 0;

	if (sort && !types_by_parse(sort + (*sort == '-'), &query->by))
		return call_bad(call, "sort", "peak, bytes, count or kept");
	query->fold = fold && strcmp(fold, "template") == 0;
	if (!call_number(call, "top", 0, ROWS_MAX, &query->top) ||
	    !call_number(call, "offset", 0, UINT32_MAX, &query->offset) ||
	    !call_number(call, "spark", 0, TYPE_BINS, &spark) || !call_bool(call, "guess", guess))
		return false;
	query->spark = (u32)spark;
	return true;
}

/* How many rows there are if nothing is cut. */
static u64 types_count(struct study *trace, const struct types_query *query, bool guess)
{
	struct types_query all = {.by = query->by, .fold = query->fold, .thresholds = query->thresholds};
	struct err err = {0};
	const struct type_list *list = guess && !query->fold ? study_type_list(trace, &err) : NULL;
	struct result *result = list ? NULL : types_of(trace, &all, guess, &err);
	struct type_columns columns;
	const struct result *table = result ? types_table(result, &columns) : NULL;
	u64 count = list ? list->rows.count : table ? result_rows(table) : 0;

	result_free(result);
	return count;
}

static void reply_types(struct call *call, const struct types_query *query, bool guess)
{
	struct err err = {0};
	struct result *result = types_of(call->trace, query, guess, &err);

	if (result) {
		call->rows_total = types_count(call->trace, query, guess);
		call->has_rows_total = true;
		call->truncated = query->top && query->offset + query->top < call->rows_total;
	}
	reply_result(call, result, &err);
}

void api_types(struct call *call)
{
	struct types_query query = {.top = 100, .thresholds = THRESHOLDS_DEFAULT};
	struct view_scope base = {0};
	bool guess = true, compared = false;

	if (types_read(call, &query, &guess) && call_base(call, &base, &compared)) {
		if (compared)
			reply_types_beside(call, &base, &query, guess);
		else
			reply_types(call, &query, guess);
	}
	view_scope_release(&base);
}

void api_fields(struct call *call)
{
	const char *type = call_text(call, "type");
	struct result *result;
	struct err err = {0};

	if (!type) {
		call_bad(call, "type", "the name of a type");
		return;
	}
	lock(call);
	result = types_result(call->trace, NULL, type, true, &err);
	unlock(call);
	reply_result(call, result, &err);
}
