/* SPDX-License-Identifier: MIT
 * Lists of a store: its runs, and the allocation points that cost most over all of them.
 * Host. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "show/fleet/ask.h"

/* ---- runs ---- */

static const struct result_column run_columns[] = {
	COLUMN("run", "run", VALUE_TEXT, "id of the run, for 'heapwise fleet fetch'"),
	COLUMN("time", "time", VALUE_TEXT, "time when the trace was written (UTC)"),
	COLUMN("host", "host", VALUE_TEXT, "host of the run"),
	COLUMN("program", "program", VALUE_TEXT, "file name of the program"),
	COLUMN("build", NULL, VALUE_TEXT, "the program's build-id"),
	COLUMN("version", "version", VALUE_TEXT, "its version"),
	COLUMN("labels", NULL, VALUE_TEXT, "labels given with the run"),
	COLUMN("duration_ns", "ran", VALUE_NS, "duration of the run"),
	COLUMN("allocations", NULL, VALUE_COUNT, "allocations"),
	COLUMN("bytes", NULL, VALUE_BYTES, "requested bytes"),
	COLUMN("peak_bytes", "peak", VALUE_BYTES, "highest live bytes at any moment"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed"),
	COLUMN("byte_seconds", NULL, VALUE_RATIO, "bytes × time, in byte seconds"),
	COLUMN("points", "points", VALUE_COUNT, "allocation points"),
	COLUMN("trace", NULL, VALUE_BOOL, "whether the store has the trace itself"),
	COLUMN("complete", NULL, VALUE_BOOL, "whether the recording is complete"),
};
enum { RUN_COLUMNS = sizeof run_columns / sizeof *run_columns };

struct result *fleet_runs(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *table = result_table("runs", "Runs", run_columns);
	struct question ask = {.store = store};
	char *fields[RUN_COLUMNS];

	if (!table)
		return ask_done(NULL, 0, err);
	table->empty = "no runs";
	strbuf_add(&ask.sql,
		   "SELECT run, toString(time, 'UTC'), host, program_name, build_id, version,"
		   " arrayStringConcat(arrayMap((k, v) -> concat(k, '=', v), `labels.key`, "
		   "`labels.value`), ' '),"
		   " duration_ns, allocations, bytes, peak_bytes, kept_bytes, byte_seconds, points,"
		   " trace_bytes > 0, complete");
	ask_from(&ask, TABLE_RUNS, "", &query->filter);
	strbuf_add(&ask.sql, " ORDER BY time DESC, run");
	ask_limit(&ask, query->top);
	while (question_row(&ask, fields, RUN_COLUMNS, err)) {
		struct value row[RUN_COLUMNS] = {ask_hex(table, reply_number(fields[0]))};

		for (u32 i = 1; i < RUN_COLUMNS; i++)
			row[i] = ask_value(table, run_columns[i].type, fields[i]);
		result_put_row(table, row, RUN_COLUMNS);
	}
	return ask_done(table, question_end(&ask), err);
}

/* ---- points ---- */

static const struct result_column point_columns[] = {
	COLUMN("byte_seconds", "bytes x s", VALUE_RATIO,
	       "bytes × time of all runs, in byte seconds"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes of all runs"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations of all runs"),
	COLUMN("max_peak_bytes", "highest peak", VALUE_BYTES, "highest live bytes in any run"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed, in all runs"),
	COLUMN("runs", "runs", VALUE_COUNT, "runs in which the point allocates"),
	COLUMN("place", NULL, VALUE_TEXT, "identifier of the point in the store, across builds"),
	COLUMN("stack", "stack", VALUE_STACK, "call stack, from one of the builds"),
};

static void fill_points(struct question *ask, const struct fleet_query *query, struct result *table,
			struct err *err)
{
	struct found_points found = {.key = "1 AND place"};
	char *fields[7];

	while (question_row(ask, fields, 7, err)) {
		struct value row[7] = {[6] = ask_hex(table, reply_number(fields[5]))};

		for (u32 i = 0; i <= 4; i++)
			row[i] = ask_value(table, point_columns[i].type, fields[i]);
		result_put_row(table, row, 7);
		if (result_failed(table) || !vec_push(&found.places, reply_number(fields[5])) ||
		    !vec_push(&found.stacks, reply_number(fields[6])))
			ask->status = err_memory_for(err, "the answer");
	}
	if (ask->status == 0)
		ask->status = ask_found(ask->store, query, &found, table, err);
	found_points_release(&found);
}

struct result *fleet_top(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *table = result_table("top", "Points of all runs", point_columns);
	struct question ask = {.store = store};

	if (!table)
		return ask_done(NULL, 0, err);
	table->empty = "no runs";
	strbuf_addf(&ask.sql,
		    "SELECT sum(byte_seconds), sum(bytes), sum(allocations), max(own_peak_bytes),"
		    " sum(kept_bytes), place, min(stack), sum(%s) AS measure",
		    measure_column(query->measure));
	ask_from(&ask, TABLE_POINTS, "", &query->filter);
	strbuf_add(&ask.sql, " GROUP BY place ORDER BY measure DESC, place");
	ask_limit(&ask, query->top);
	fill_points(&ask, query, table, err);
	return ask_done(table, question_end(&ask), err);
}
