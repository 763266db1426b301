/* SPDX-License-Identifier: MIT
 * What grew from one build to another, how sure that is, and in which build it began.
 * Host. The store adds up by place; who grew is tested here, on the values of single runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "show/fleet/builds.h"
#include "show/fleet/ranks.h"

enum { CANDIDATES = 200 }; /* places that are tested, those that grew most */

static const struct result_column columns[] = {
	COLUMN("growth", "growth", VALUE_DELTA_BYTES,
	       "mean of a run of the new build, minus that of the old one"),
	COLUMN("change", "change", VALUE_CHANGE, "growth / old"),
	COLUMN("old", "old", VALUE_BYTES, "mean of the runs of the old build"),
	COLUMN("new", "new", VALUE_BYTES, "mean of the runs of the new build"),
	COLUMN("effect", "effect", VALUE_RATIO,
	       "Cliff's delta: 1 if every run of the new build is above every old one"),
	COLUMN("p", NULL, VALUE_RATIO, "Mann-Whitney test, two-sided"),
	COLUMN("q", "q", VALUE_RATIO,
	       "share of rows up to here that may be chance (Benjamini-Hochberg)"),
	COLUMN("first_build", "since build", VALUE_TEXT,
	       "first build that differs from the old one"),
	COLUMN("place", NULL, VALUE_TEXT, "identifier of the point in the store, across builds"),
	COLUMN("stack", "stack", VALUE_STACK, "call stack, in the new build"),
};

struct candidate {
	u64 place, stack;
	double old_sum, new_sum;
	double growth; /* of means */
	struct rank_test test;
	double q;
};

struct values { /* of one place in one build */
	u64 place, build;
	double *rows; /* of runs in which it allocates */
	u64 count;
};

struct growth {
	struct store *store;
	const struct fleet_query *query;
	struct build_list builds;
	u64 from, to; /* rows of builds */
	VEC(struct candidate) rows;
	u64 places; /* in either build */
	VEC(struct values) values;
	struct map by_place_and_build; /* hash → row of values + 1 */
	struct arena arena;
};

static const struct build *old_build(const struct growth *self)
{
	return &self->builds.rows.data[self->from];
}
static const struct build *new_build(const struct growth *self)
{
	return &self->builds.rows.data[self->to];
}

/* ---- which builds ---- */

/* The last two of a program that have enough runs, where none were named. */
static int choose_builds(struct growth *self, struct err *err)
{
	const struct fleet_query *query = self->query;

	self->from = self->to = UINT64_MAX;
	if (query->old_build &&
	    (self->from = builds_find(&self->builds, query->old_build, err)) == UINT64_MAX)
		return err->code;
	if (query->new_build &&
	    (self->to = builds_find(&self->builds, query->new_build, err)) == UINT64_MAX)
		return err->code;
	for (u64 i = self->builds.rows.count; i-- > 0;) {
		if (self->builds.rows.data[i].runs < query->min_runs || i == self->from ||
		    i == self->to)
			continue;
		if (self->to == UINT64_MAX)
			self->to = i;
		else if (self->from == UINT64_MAX && i < self->to)
			self->from = i;
	}
	if (self->from == UINT64_MAX || self->to == UINT64_MAX)
		return err_set(err, ERR_INPUT,
			       "the store has no two builds with %llu runs each; push more runs, "
			       "or lower --min-runs",
			       (unsigned long long)query->min_runs);
	if (old_build(self)->program_key != new_build(self)->program_key)
		return err_set(
			err, ERR_USAGE,
			"%s and %s are builds of different programs, %s and %s; choose one with "
			"--program",
			old_build(self)->id, new_build(self)->id, old_build(self)->program,
			new_build(self)->program);
	if (old_build(self)->runs < query->min_runs || new_build(self)->runs < query->min_runs)
		return err_set(
			err, ERR_INPUT,
			"too few runs: %llu of build %s and %llu of %s, but --min-runs is %llu",
			(unsigned long long)old_build(self)->runs, old_build(self)->id,
			(unsigned long long)new_build(self)->runs, new_build(self)->id,
			(unsigned long long)query->min_runs);
	return 0;
}

static void ask_program(const struct growth *self, struct question *ask)
{
	strbuf_addf(&ask->sql, " AND program = %llu AND ",
		    (unsigned long long)old_build(self)->program_key);
	ask_pushes(ask, &self->query->filter);
}

/* ---- candidates ---- */

static int compare_growth(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->growth > y->growth || x->growth < y->growth)
		return x->growth > y->growth ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int read_candidates(struct growth *self, struct err *err)
{
	const char *column = measure_column(self->query->measure);
	unsigned long long old = old_build(self)->key, new = new_build(self)->key;
	struct question ask = {.store = self->store};
	char *fields[4];

	strbuf_addf(&ask.sql,
		    "SELECT place, max(if(build = %llu, stack, 0)), sum(if(build = %llu, "
		    "toFloat64(%s), 0)), sum(if(build = %llu, toFloat64(%s), 0))",
		    new, old, column, new, column);
	ask_table(&ask, TABLE_POINTS);
	strbuf_addf(&ask.sql, " WHERE build IN (%llu, %llu)", old, new);
	ask_program(self, &ask);
	strbuf_add(&ask.sql, " GROUP BY place");
	while (question_row(&ask, fields, 4, err)) {
		struct candidate row = {.place = reply_number(fields[0]),
					.stack = reply_number(fields[1]),
					.old_sum = strtod(fields[2], NULL),
					.new_sum = strtod(fields[3], NULL)};

		self->places++;
		row.growth = row.new_sum / (double)new_build(self)->runs -
			     row.old_sum / (double)old_build(self)->runs;
		if (row.growth >= (double)self->query->min_bytes && row.growth > 0 &&
		    !vec_push(&self->rows, row))
			ask.status = err_memory(err);
	}
	if (self->rows.count)
		qsort(self->rows.data, self->rows.count, sizeof *self->rows.data, compare_growth);
	if (self->rows.count > CANDIDATES)
		self->rows.count = CANDIDATES;
	return question_end(&ask);
}

/* ---- values of single runs ---- */

static u64 values_key(u64 place, u64 build) { return hash_u64(place ^ hash_u64(build + 1)); }

static int keep_values(struct growth *self, char **fields, struct err *err)
{
	struct values row = {.place = reply_number(fields[0]), .build = reply_number(fields[1])};
	struct numbers numbers = {0};
	int status = 0;

	if (reply_numbers(fields[2], &numbers)) {
		row.count = numbers.rows.count;
		row.rows = arena_new_array(&self->arena, double, row.count + 1);
	}
	if (!row.rows) {
		status = err_memory(err);
	} else {
		memcpy(row.rows, numbers.rows.data, row.count * sizeof *row.rows);
		if (!vec_push(&self->values, row) ||
		    !map_put(&self->by_place_and_build, values_key(row.place, row.build),
			     self->values.count))
			status = err_memory(err);
	}
	vec_release(&numbers.rows);
	return status;
}

/* Of the first `count` candidates in these builds. */
static int read_values(struct growth *self, u64 count, const u64 *builds, u64 build_count,
		       struct err *err)
{
	struct question ask = {.store = self->store};
	char *fields[3];

	strbuf_addf(&ask.sql,
		    "SELECT place, build, groupArray(v) FROM (SELECT place, build, push, "
		    "sum(toFloat64(%s)) AS v",
		    measure_column(self->query->measure));
	ask_table(&ask, TABLE_POINTS);
	strbuf_add(&ask.sql, " WHERE build IN (");
	question_list(&ask, builds, build_count);
	strbuf_add(&ask.sql, ") AND place IN (");
	for (u64 i = 0; i < count; i++)
		strbuf_addf(&ask.sql, "%s%llu", i ? "," : "",
			    (unsigned long long)self->rows.data[i].place);
	strbuf_add(&ask.sql, ")");
	ask_program(self, &ask);
	strbuf_add(&ask.sql, " GROUP BY place, build, push) GROUP BY place, build");
	while (question_row(&ask, fields, 3, err))
		ask.status = keep_values(self, fields, err);
	return question_end(&ask);
}

/* The values of all runs of a build: those in which the place does not allocate are 0. NULL if
 * there is no memory. */
static double *all_values(const struct growth *self, u64 place, const struct build *build)
{
	const u64 *at = map_find(&self->by_place_and_build, values_key(place, build->key));
	const struct values *row = at ? &self->values.data[*at - 1] : NULL;
	double *all = calloc(build->runs + (row ? row->count : 0) + 1, sizeof *all);

	if (all && row)
		memcpy(all, row->rows, row->count * sizeof *all);
	return all;
}

static bool test_builds(const struct growth *self, u64 place, const struct build *a,
			const struct build *b, struct rank_test *test)
{
	double *old = all_values(self, place, a), *new = all_values(self, place, b);
	bool done = old && new;

	if (done)
		*test = rank_test(old, a->runs, new, b->runs);
	free(old);
	free(new);
	return done;
}

/* ---- tests ---- */

static int compare_p(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->test.p > y->test.p || x->test.p < y->test.p)
		return x->test.p < y->test.p ? -1 : 1;
	return compare_growth(a, b);
}

static int test_candidates(struct growth *self, struct err *err)
{
	double *p = calloc(self->rows.count + 1, sizeof *p);

	for (u64 i = 0; i < self->rows.count && p; i++)
		if (!test_builds(self, self->rows.data[i].place, old_build(self), new_build(self),
				 &self->rows.data[i].test)) {
			free(p);
			p = NULL;
		}
	if (!p)
		return err_memory(err);
	if (self->rows.count)
		qsort(self->rows.data, self->rows.count, sizeof *self->rows.data, compare_p);
	for (u64 i = 0; i < self->rows.count; i++)
		p[i] = self->rows.data[i].test.p;
	false_discovery(p, self->rows.count, self->places);
	for (u64 i = 0; i < self->rows.count; i++)
		self->rows.data[i].q = p[i];
	free(p);
	return 0;
}

/* Leaves those that are no chance, largest first; the number of others. */
static u64 drop_chance(struct growth *self)
{
	u64 kept = 0, count = self->rows.count;

	for (u64 i = 0; i < count; i++)
		if (self->rows.data[i].q <= self->query->alpha &&
		    self->rows.data[i].test.delta > 0 &&
		    self->rows.data[i].test.delta >= self->query->min_effect)
			self->rows.data[kept++] = self->rows.data[i];
	self->rows.count = kept;
	if (kept)
		qsort(self->rows.data, kept, sizeof *self->rows.data, compare_growth);
	if (self->query->top && kept > self->query->top)
		self->rows.count = self->query->top;
	return count - kept;
}

/* The first build from which on all builds up to the new one are above the old one; those with too
 * few runs say nothing. */
static const char *since_build(const struct growth *self, u64 place)
{
	u64 first = self->to;

	for (u64 i = self->to; i-- > self->from + 1;) {
		const struct build *build = &self->builds.rows.data[i];
		struct rank_test test = {.p = 1};

		if (build->program_key != old_build(self)->program_key ||
		    build->runs < self->query->min_runs)
			continue;
		if (!test_builds(self, place, old_build(self), build, &test) || test.delta <= 0 ||
		    test.p > self->query->alpha)
			break;
		first = i;
	}
	return self->builds.rows.data[first].id;
}

static int read_between(struct growth *self, struct err *err)
{
	u64 *builds = calloc(self->builds.rows.count + 1, sizeof *builds), count = 0;
	int status;

	if (!builds)
		return err_memory(err);
	for (u64 i = self->from + 1; i < self->to; i++)
		if (self->builds.rows.data[i].program_key == old_build(self)->program_key)
			builds[count++] = self->builds.rows.data[i].key;
	status = count && self->rows.count ? read_values(self, self->rows.count, builds, count, err)
					   : 0;
	free(builds);
	return status;
}

/* ---- the answer ---- */

static void add_row(const struct growth *self, const struct candidate *candidate,
		    struct result *table)
{
	enum fleet_measure measure = self->query->measure;
	double old = candidate->old_sum / (double)old_build(self)->runs;
	double new = candidate->new_sum / (double)new_build(self)->runs;
	const char *since = since_build(self, candidate->place);

	result_row(table,
		   measure == MEASURE_TIME ? value_real(new - old)
					   : value_signed((i64)(new - old + 0.5)),
		   value_if(old > 0, value_real((new - old) / old)), measure_value(measure, old),
		   measure_value(measure, new), value_real(candidate->test.delta),
		   value_real(candidate->test.p), value_real(candidate->q), ask_copy(table, since),
		   ask_hex(table, candidate->place));
}

static int add_rows(struct growth *self, struct result *table, struct err *err)
{
	u64 count = self->rows.count, *keys = arena_new_array(&self->arena, u64, count + 1);

	if (!keys)
		return err_memory(err);
	for (u64 i = 0; i < count; i++) {
		add_row(self, &self->rows.data[i], table);
		keys[i] = self->rows.data[i].stack;
	}
	return count ? ask_stacks(self->store, keys, self->query->depth, table, err) : 0;
}

static void set_columns(const struct growth *self, struct result *table)
{
	enum fleet_measure measure = self->query->measure;

	if (result_failed(table))
		return;
	table->columns.data[0].type = measure == MEASURE_TIME    ? VALUE_RATIO
				      : measure == MEASURE_COUNT ? VALUE_DELTA
								 : VALUE_DELTA_BYTES;
	table->columns.data[2].type = table->columns.data[3].type = measure_type(measure);
	table->empty = "nothing grew beyond chance";
}

static int find(struct growth *self, struct result *table, struct err *err)
{
	int status = builds_read(&self->builds, self->store, &self->query->filter, err);
	u64 both[2], chance;

	if (status == 0)
		status = choose_builds(self, err);
	if (status == 0)
		status = read_candidates(self, err);
	if (status < 0)
		return status;
	both[0] = old_build(self)->key;
	both[1] = new_build(self)->key;
	if (self->rows.count)
		status = read_values(self, self->rows.count, both, 2, err);
	if (status == 0)
		status = test_candidates(self, err);
	if (status < 0)
		return status;
	chance = drop_chance(self);
	status = read_between(self, err);
	result_add_caveat(table,
			  "%s of %s: %llu runs of build %s and %llu of %s; %llu places, %llu more "
			  "grew by little or by chance",
			  measure_words(self->query->measure), old_build(self)->program,
			  (unsigned long long)old_build(self)->runs, old_build(self)->id,
			  (unsigned long long)new_build(self)->runs, new_build(self)->id,
			  (unsigned long long)self->places, (unsigned long long)chance);
	return status < 0 ? status : add_rows(self, table, err);
}

struct result *fleet_growth(struct store *store, const struct fleet_query *query, struct err *err)
{
	struct result *table = result_table("growth", "What grew", columns);
	struct growth self = {.store = store, .query = query};
	int status;

	if (!table)
		return ask_done(NULL, 0, err);
	set_columns(&self, table);
	status = find(&self, table, err);
	builds_release(&self.builds);
	vec_release(&self.rows);
	vec_release(&self.values);
	map_release(&self.by_place_and_build);
	arena_release(&self.arena);
	return ask_done(table, status, err);
}
