/* SPDX-License-Identifier: MIT
 * What was lost and kept, by build, and where.
 * Host. */
#include <stdlib.h>
#include <string.h>

#include "show/fleet/builds.h"

static const struct result_column columns[] = {
	COLUMN("program", "program", VALUE_TEXT, "file name of the program"),
	COLUMN("build", "build", VALUE_TEXT, "its build-id"),
	COLUMN("version", "version", VALUE_TEXT, "its version"),
	COLUMN("first", NULL, VALUE_TEXT, "time of its first run (UTC)"),
	COLUMN("runs", "runs", VALUE_COUNT, "runs"),
	COLUMN("runs_with_lost", "with losses", VALUE_COUNT, "runs with lost memory"),
	COLUMN("lost_bytes", "lost", VALUE_BYTES,
	       "bytes that nothing points to any more, in all runs"),
	COLUMN("indirect_bytes", NULL, VALUE_BYTES, "bytes that only lost chunks point to"),
	COLUMN("possible_bytes", "possibly", VALUE_BYTES, "bytes with interior pointers only"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed, in all runs"),
	COLUMN("lost_per_run", "lost per run", VALUE_BYTES, "mean lost bytes"),
	COLUMN("kept_per_run", "kept per run", VALUE_BYTES, "mean kept bytes"),
};

static const struct result_column point_columns[] = {
	COLUMN("lost_bytes", "lost", VALUE_BYTES, "lost bytes of all runs"),
	COLUMN("kept_bytes", "kept", VALUE_BYTES, "bytes never freed, in all runs"),
	COLUMN("runs", "runs", VALUE_COUNT, "runs in which the point keeps memory"),
	COLUMN("builds", "builds", VALUE_COUNT, "builds in which the point keeps memory"),
	COLUMN("first_build", "since build", VALUE_TEXT, "the first of these builds"),
	COLUMN("place", NULL, VALUE_TEXT, "identifier of the point in the store, across builds"),
	COLUMN("stack", "stack", VALUE_STACK, "call stack"),
};

struct build_sums {
	u64 program, build;
	u64 runs_with_lost;
	u64 lost, indirect, possible, kept;
};

static int read_sums(struct store *store, const struct fleet_query *query,
		     const struct build_list *builds, struct build_sums *sums, struct err *err)
{
	struct question ask = {.store = store};
	char *fields[7];

	strbuf_add(&ask.sql, "SELECT program, build, uniqExactIf(push, lost_bytes > 0),"
			     " sum(lost_bytes), sum(indirect_bytes), sum(possible_bytes), "
			     "sum(kept_bytes)");
	ask_from(&ask, TABLE_POINTS, "kept_bytes > 0 AND ", &query->filter);
	strbuf_add(&ask.sql, " GROUP BY program, build");
	while (question_row(&ask, fields, 7, err))
		for (u64 i = 0; i < builds->rows.count; i++)
			if (builds->rows.data[i].key == reply_number(fields[1]) &&
			    builds->rows.data[i].program_key == reply_number(fields[0]))
				sums[i] = (struct build_sums){.runs_with_lost =
								      reply_number(fields[2]),
							      .lost = reply_number(fields[3]),
							      .indirect = reply_number(fields[4]),
							      .possible = reply_number(fields[5]),
							      .kept = reply_number(fields[6])};
	return question_end(&ask);
}

static void add_build(struct result *table, const struct build *build,
		      const struct build_sums *sums)
{
	u64 runs = build->runs;

	result_row(table, ask_copy(table, build->program), ask_copy(table, build->id),
		   ask_copy(table, build->version), ask_copy(table, build->first),
		   value_number(runs), value_number(sums->runs_with_lost), value_number(sums->lost),
		   value_number(sums->indirect), value_number(sums->possible),
		   value_number(sums->kept), value_number(runs ? sums->lost / runs : 0),
		   value_number(runs ? sums->kept / runs : 0));
}

/* The build of a list of keys that comes first. */
static const char *first_build(const struct build_list *builds, const char *field, u64 *count)
{
	enum { BUILDS_MAX = 4096 };
	u64 *keys = calloc(BUILDS_MAX, sizeof *keys);
	const char *first = NULL;

	*count = 0;
	if (keys && reply_ids(field, keys, BUILDS_MAX, count))
		for (u64 i = 0; i < builds->rows.count && !first; i++)
			for (u64 k = 0; k < *count && !first; k++)
				if (builds->rows.data[i].key == keys[k])
					first = builds->rows.data[i].id;
	free(keys);
	return first;
}

static void add_point(struct result *table, const struct build_list *builds, char **fields)
{
	u64 count;
	const char *first = first_build(builds, fields[2], &count);

	result_row(table, ask_value(table, VALUE_BYTES, fields[0]),
		   ask_value(table, VALUE_BYTES, fields[1]), value_unknown(), value_number(count),
		   ask_copy(table, first), ask_hex(table, reply_number(fields[3])));
}

static int read_points(struct store *store, const struct fleet_query *query,
		       const struct build_list *builds, struct result *table, struct err *err)
{
	struct found_points found = {.key = "kept_bytes > 0 AND place"};
	struct question ask = {.store = store};
	char *fields[5];

	strbuf_add(&ask.sql, "SELECT sum(lost_bytes) AS lost, sum(kept_bytes) AS kept, "
			     "groupUniqArray(build), place, min(stack)");
	ask_from(&ask, TABLE_POINTS, "kept_bytes > 0 AND ", &query->filter);
	strbuf_add(&ask.sql, " GROUP BY place ORDER BY lost DESC, kept DESC, place");
	ask_limit(&ask, query->top);
	while (question_row(&ask, fields, 5, err)) {
		add_point(table, builds, fields);
		if (!vec_push(&found.places, reply_number(fields[3])) ||
		    !vec_push(&found.stacks, reply_number(fields[4])))
			ask.status = err_memory(err);
	}
	if (ask.status == 0)
		ask.status = ask_found(store, query, &found, table, err);
	found_points_release(&found);
	return question_end(&ask);
}

static int fill(struct store *store, const struct fleet_query *query, struct result *table,
		struct result *points, struct err *err)
{
	struct build_list builds = {0};
	struct build_sums *sums = NULL;
	int status = builds_read(&builds, store, &query->filter, err);

	table->empty = "no runs";
	points->empty = "nothing was kept";
	if (status == 0) {
		sums = calloc(builds.rows.count + 1, sizeof *sums);
		status = sums ? read_sums(store, query, &builds, sums, err) : err_memory(err);
	}
	for (u64 i = 0; i < builds.rows.count && status == 0; i++)
		add_build(table, &builds.rows.data[i], &sums[i]);
	if (status == 0)
		status = read_points(store, query, &builds, points, err);
	free(sums);
	builds_release(&builds);
	return status;
}

struct result *fleet_leaks(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *record = result_new(RESULT_RECORD, "leaks", "Leaks");
	struct result *table = result_table("builds", "By build", columns);
	struct result *points = result_table("points", "Where", point_columns);
	int status = record && table && points ? fill(store, query, table, points, err)
					       : err_memory(err);

	if (record) {
		result_add_part(record, table);
		result_add_part(record, points);
	} else {
		result_free(table);
		result_free(points);
	}
	return ask_done(record, status, err);
}
