/* SPDX-License-Identifier: MIT
 * Questions to a store of many runs: which runs they are about, and what they have in common. The
 * SQL of each is also in docs/FLEET.md; the statistics are in docs/METHODS.md, "Fleets". */
#ifndef SHOW_FLEET_ASK_H
#define SHOW_FLEET_ASK_H

#include "host/base/options.h"
#include "show/fleet/question.h"
#include "show/fleet/schema.h"
#include "study/result/result.h"

/* Which runs. */
struct fleet_filter {        /* NULL or 0 = all */
	const char *program; /* name of its file */
	const char *build;   /* first digits of a build-id, or a version */
	const char *host;
	const struct option_strings *labels; /* "key=value", all of them */
	u64 days;                            /* the last so many */
};

enum fleet_measure {
	MEASURE_TIME,
	MEASURE_PEAK,
	MEASURE_BYTES,
	MEASURE_KEPT,
	MEASURE_COUNT,
	MEASURES
};
#define MEASURE_WORDS "time|peak|bytes|kept|count"
bool measure_parse(const char *word, enum fleet_measure *measure);
const char *measure_column(enum fleet_measure measure);     /* of points */
const char *measure_run_column(enum fleet_measure measure); /* of runs */
const char *measure_words(enum fleet_measure measure);
enum value_type measure_type(enum fleet_measure measure);
struct value measure_value(enum fleet_measure measure, double value);

struct fleet_query {
	struct fleet_filter filter;
	enum fleet_measure measure;
	u64 top;                           /* rows, 0 = all */
	u32 depth;                         /* frames, 0 = all */
	const char *old_build, *new_build; /* growth */
	u64 min_runs;                      /* growth: of each build; hosts: hosts of a build */
	double alpha;      /* growth: what may be wrong of the rows that are shown */
	double min_effect; /* growth: Cliff's delta below which it does not matter */
	u64 min_bytes;     /* growth: smaller ones are not shown */
	double limit;      /* hosts: distance from the peers */
};

/* Each is a table or a record; NULL and err on failure. The store's schema was checked. */
struct result *fleet_runs(struct store *store, const struct fleet_query *query, struct err *err);
struct result *fleet_top(struct store *store, const struct fleet_query *query, struct err *err);
struct result *fleet_growth(struct store *store, const struct fleet_query *query, struct err *err);
struct result *fleet_hosts(struct store *store, const struct fleet_query *query, struct err *err);
struct result *fleet_scores(struct store *store, const struct fleet_query *query, struct err *err);
struct result *fleet_leaks(struct store *store, const struct fleet_query *query, struct err *err);

/* Writes the trace of a run, by the first digits of its number, to the file. */
int fleet_fetch(struct store *store, const char *run, int fd, struct err *err);

/* ---- for the questions ---- */

/* " FROM points_all" or " FROM points" */
void ask_table(struct question *self, enum fleet_table table);

/* The same and " WHERE …": its rows that belong to runs of the filter, each run once. Before that a
 * further condition, "" or "… AND ". */
void ask_from(struct question *self, enum fleet_table table, const char *condition,
	      const struct fleet_filter *filter);

/* What ask_from says of runs alone, of a table whose rows belong to runs. */
void ask_pushes(struct question *self, const struct fleet_filter *filter);

/* " LIMIT N"; 0 = none */
void ask_limit(struct question *self, u64 rows);

/* Fills the last column of a table with stacks, by a key for each row; unknown where the store has
 * none. */
int ask_stacks(struct store *store, const u64 *keys, u32 depth, struct result *table,
	       struct err *err);

/* Points that are shown: their places and one stack of each, by row of a table. */
struct found_points {    /* all zero but the key = empty */
	const char *key; /* "place", after a condition that holds in runs that are counted */
	VEC(u64) places;
	VEC(u64) stacks;
};
void found_points_release(struct found_points *self);

/* Fills the column "runs" and the last one, of stacks. */
int ask_found(struct store *store, const struct fleet_query *query,
	      const struct found_points *found, struct result *table, struct err *err);

/* The result, or NULL and err if it is incomplete. */
struct result *ask_done(struct result *result, int status, struct err *err);

/* "0123456789abcdef" */
struct value ask_hex(struct result *result, u64 number);

/* Copies of texts, and fields of a row as values of these types. */
struct value ask_copy(struct result *result, const char *text);
struct value ask_value(struct result *result, enum value_type type, const char *field);

#endif
