/* SPDX-License-Identifier: MIT
 * Hosts whose runs differ from those of their peers: hosts that run the same build of the same
 * program.
 * Host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/fleet/ask.h"
#include "show/fleet/ranks.h"

struct host {
	const char *program, *build, *name;
	u64 runs;
	double value; /* median of its runs */
};

struct host_list {
	VEC(struct host) rows; /* by program and build */
	struct arena arena;
};

static const struct result_column columns[] = {
	COLUMN("host", "host", VALUE_TEXT, "host that differs"),
	COLUMN("program", "program", VALUE_TEXT, "file name of the program"),
	COLUMN("build", "build", VALUE_TEXT, "its build-id"),
	COLUMN("runs", "runs", VALUE_COUNT, "runs of this build on the host"),
	COLUMN("value", "median", VALUE_RATIO, "median of these runs"),
	COLUMN("peers", "peers", VALUE_COUNT, "hosts with runs of this build, including this one"),
	COLUMN("peers_value", "of peers", VALUE_RATIO, "median of the hosts' medians"),
	COLUMN("ratio", "times", VALUE_RATIO, "value / peers_value"),
	COLUMN("distance", "distance", VALUE_RATIO,
	       "distance from the peers, in robust standard deviations"),
};

static int read_hosts(struct store *store, const struct fleet_query *query, struct host_list *list,
		      struct err *err)
{
	struct question ask = {.store = store};
	struct numbers values = {0};
	char *fields[4];

	strbuf_addf(&ask.sql, "SELECT program_name, build_id, host, groupArray(toFloat64(%s))",
		    measure_run_column(query->measure));
	ask_from(&ask, TABLE_RUNS, "", &query->filter);
	strbuf_add(&ask.sql,
		   " GROUP BY program_name, build_id, host ORDER BY program_name, build_id, host");
	while (question_row(&ask, fields, 4, err)) {
		struct host host = {.program = arena_copy(&list->arena, fields[0]),
				    .build = arena_copy(&list->arena, fields[1]),
				    .name = arena_copy(&list->arena, fields[2])};

		if (!host.program || !host.build || !host.name ||
		    !reply_numbers(fields[3], &values)) {
			ask.status = err_set(err, ERR_INPUT, "the store's answer cannot be read");
			break;
		}
		host.runs = values.rows.count;
		host.value = median(values.rows.data, values.rows.count);
		if (!vec_push(&list->rows, host))
			ask.status = err_memory(err);
	}
	vec_release(&values.rows);
	return question_end(&ask);
}

struct judged {
	const struct host *host;
	u64 peers;
	double centre, distance;
};

static int compare_distance(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;
	double dx = fabs(x->distance), dy = fabs(y->distance);

	if (dx > dy || dx < dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->host->name, y->host->name);
}

/* Hosts first … end are peers. */
static bool judge(const struct host_list *list, u64 first, u64 end, struct judged *out)
{
	u64 count = end - first;
	double *values = calloc(count + 1, sizeof *values),
	       *distances = calloc(count + 1, sizeof *distances);
	double centre = 0;
	bool done = values && distances;

	for (u64 i = 0; i < count && done; i++)
		values[i] = list->rows.data[first + i].value;
	done = done && robust_distances(values, count, &centre, distances);
	for (u64 i = 0; i < count && done; i++)
		out[i] = (struct judged){&list->rows.data[first + i], count, centre, distances[i]};
	free(values);
	free(distances);
	return done;
}

static void add_row(struct result *table, const struct judged *judged)
{
	const struct host *host = judged->host;
	double centre = judged->centre;

	result_row(table, ask_copy(table, host->name), ask_copy(table, host->program),
		   ask_copy(table, host->build), value_number(host->runs), value_real(host->value),
		   value_number(judged->peers), value_real(centre),
		   value_if(centre > 0, value_real(host->value / centre)),
		   value_real(judged->distance));
}

static bool same_build(const struct host *a, const struct host *b)
{
	return strcmp(a->program, b->program) == 0 && strcmp(a->build, b->build) == 0;
}

static int judge_all(const struct host_list *list, const struct fleet_query *query,
		     struct result *table, struct err *err)
{
	struct judged *all = calloc(list->rows.count + 1, sizeof *all);
	u64 count = 0, skipped = 0;

	if (!all)
		return err_memory(err);
	for (u64 first = 0, end; first < list->rows.count; first = end) {
		for (end = first; end < list->rows.count &&
				  same_build(&list->rows.data[first], &list->rows.data[end]);)
			end++;
		if (end - first < query->min_runs) {
			skipped += end - first;
			continue;
		}
		if (!judge(list, first, end, all + count)) {
			free(all);
			return err_memory(err);
		}
		count += end - first;
	}
	qsort(all, count, sizeof *all, compare_distance);
	for (u64 i = 0;
	     i < count && fabs(all[i].distance) >= query->limit && (!query->top || i < query->top);
	     i++)
		add_row(table, &all[i]);
	if (skipped)
		result_add_caveat(
			table,
			"%llu hosts were not judged: their builds have fewer than %llu hosts",
			(unsigned long long)skipped, (unsigned long long)query->min_runs);
	free(all);
	return 0;
}

struct result *fleet_hosts(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *table = result_table("hosts", "Hosts that differ", columns);
	struct host_list list = {0};
	int status;

	if (!table)
		return ask_done(NULL, 0, err);
	table->empty = "no host differs from its peers";
	status = read_hosts(store, query, &list, err);
	if (status == 0)
		status = judge_all(&list, query, table, err);
	vec_release(&list.rows);
	arena_release(&list.arena);
	return ask_done(table, status, err);
}
