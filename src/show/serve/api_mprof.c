/* SPDX-License-Identifier: MIT
 * The tables of `heapwise mprof` over HTTP, alone or beside those of another trace. Runs on threads
 * of the server. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/bins.h"
#include "study/analysis/mprof/direct.h"
#include "study/analysis/mprof/graph.h"
#include "study/analysis/mprof/leaks.h"
#include "study/analysis/summary/summary.h"
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

/* The page of a table that is wanted; false if that was refused. */
struct page {
	u64 offset, limit;
};

static bool page_read(struct call *call, struct page *page)
{
	*page = (struct page){.limit = ROWS_MAX};
	return call_number(call, "offset", 0, UINT32_MAX, &page->offset) &&
	       call_number(call, "limit", 1, ROWS_MAX, &page->limit);
}

/* Answers with a page of a table. */
static void reply_table(struct call *call, struct result *table, const struct err *err)
{
	struct page page;

	if (table && !page_read(call, &page)) {
		result_free(table);
		return;
	}
	if (table && !result_failed(table)) {
		call_rows_total(call, result_rows(table));
		call->truncated = cut(table, page.offset, page.limit);
	}
	reply_result(call, table, err);
}

struct mprof_queries {
	struct mprof_leaks_query leaks;
	struct mprof_bins_query bins;
	struct mprof_graph_query graph;
};

static bool mprof_read(struct call *call, struct mprof_queries *queries)
{
	bool types = true, cycles = false, log = false;
	u32 verbosity = MPROF_NORMAL;

	*queries = (struct mprof_queries){.leaks.depth = 5};
	if (!call_word(call, "verb", "verbose, normal or terse", &verbosity) ||
	    !call_u32(call, "depth", 0, UINT32_MAX, &queries->leaks.depth) ||
	    !call_bool(call, "offsets", &queries->leaks.offsets) ||
	    !call_bool(call, "types", &types) || !call_bool(call, "log", &log) ||
	    !call_bool(call, "cycles", &cycles))
		return false;
	queries->leaks.verbosity = queries->bins.verbosity = verbosity;
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
			err_set(err, ERR_USAGE,
				"a Lisp recording has no table of leaks: objects not collected yet "
				"are not leaks");
			return NULL;
		}
		return analyse_mprof_leaks(calls, &queries->leaks, err);
	case MPROF_BINS:
		return calls->lisp ? analyse_lisp_types(calls, queries->bins.verbosity, err)
				   : analyse_mprof_bins(trace->model, &queries->bins, err);
	case MPROF_DIRECT: return analyse_mprof_direct(calls, err);
	case MPROF_GRAPH: return analyse_mprof_graph(calls, &queries->graph, err);
	}
	return NULL;
}

static void mprof_caveats(struct result *result, const struct study *trace,
			  const struct mprof_calls *calls)
{
	add_caveats(result, trace->model, &trace->info);
	if (calls->startup.calls)
		result_add_caveat(
			result,
			"the start of Lisp itself (%s in %s objects) is left out; 'heapwise mprof "
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
			       const struct mprof_queries *queries)
{
	const char *keys = mprof_keys(table, call->trace);
	struct mprof_queries all = *queries;
	struct err err = {0};
	struct study *other = call->base_part;
	struct result *ours = mprof_result(call->trace, table, queries, &err);
	struct result *theirs, *ours_all;
	struct page page;

	all.leaks.verbosity = all.bins.verbosity = MPROF_VERBOSE;
	theirs = ours ? mprof_result(other, table, &all, &err) : NULL;
	ours_all = theirs ? mprof_result(call->trace, table, &all, &err) : NULL;
	if (model_is_collected(other->model) != model_is_collected(call->trace->model)) {
		answer_refuse(call->answer, 400,
			      "a Lisp recording can only be compared with another Lisp recording");
	} else if (!ours_all || result_failed(ours) || result_failed(theirs) ||
		   result_failed(ours_all)) {
		call_fail(call, &err);
	} else if (page_read(call, &page)) {
		call_rows_total(call, result_rows(ours));
		call->truncated = cut(ours, page.offset, page.limit);
		reply_beside(call, &(struct beside){ours, theirs, keys},
			     rows_gone(&(struct beside){ours_all, theirs, keys}));
	}
	result_free(ours);
	result_free(ours_all);
	result_free(theirs);
}

static void reply_mprof(struct call *call, enum mprof_table table)
{
	struct mprof_queries queries;
	struct err err = {0};

	if (!mprof_read(call, &queries) || !call_base_part(call))
		return;
	if (call_is_compared(call))
		reply_mprof_beside(call, table, &queries);
	else
		reply_table(call, mprof_result(call->trace, table, &queries, &err), &err);
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
		pthread_mutex_lock(&call->trace->analysis_lock);
		mprof_caveats(result, call->trace, calls);
		for (u32 i = calls->lisp ? MPROF_BINS : MPROF_LEAKS; i <= MPROF_GRAPH; i++)
			result_add_part(result, mprof_table(call->trace, calls, (enum mprof_table)i,
							    &queries, &err));
		pthread_mutex_unlock(&call->trace->analysis_lock);
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
