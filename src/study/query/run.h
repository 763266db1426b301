/* SPDX-License-Identifier: MIT
 * A run of one query: its stages, one after the other, each from a state to the next. For the
 * engine only. */
#ifndef STUDY_QUERY_RUN_H
#define STUDY_QUERY_RUN_H

#include <string.h>

#include "study/query/entries.h"
#include "study/query/state.h"

struct query_engine {
	void *lock; /* pthread_mutex_t */
	u32 count;
	struct domain domains[QUERY_TRACES];
	struct cache cache;
};

struct run {
	struct query_engine *engine;
	const struct query *query;
	struct query_window window; /* to_ns 0 = none */
	bool stacks;                /* stacks of entries are shown */
	struct arena arena;         /* of plans: of the stage, then of the rows */
	struct query_error *error;
	struct state *lets; /* by let, once they were run */
	bool *lets_known;
};

/* All return 0, or a negative code and run->error. */
int run_pipe(struct run *run, const struct pipe *pipe, u32 stages, struct state *out);
int run_join(struct run *run, struct state *state, const struct stage *stage);
int run_unify(struct run *run, struct state *state, const struct stage *stage);
int run_agg(struct run *run, struct state *state, const struct stage *stage);
int run_entries_where(struct run *run, struct state *state, const struct stage *stage);
int run_entries_color(struct run *run, struct state *state, const struct stage *stage);
int run_entries_sort(struct run *run, struct state *state, const struct stage *stage);
int run_entries_limit(struct run *run, struct state *state, u64 count);
/* Leaves in sel what the entries stand for. */
int run_settle(struct run *run, struct state *state);

/* Puts the first `most` entries (chunks) in their order. */
int run_order(struct run *run, struct state *state, u64 most);

/* What the user sees of it. */
int run_rows(struct run *run, struct state *state, const struct query_options *options,
	     struct result **out);

/* A pass over the chunks of a trace that the state has. */
struct scan run_scan(struct run *run, struct state *state, u32 trace);

int run_fail(struct run *run, const struct err *err);
int run_no_memory(struct run *run);
struct planner run_planner(struct run *run, u32 trace, struct err *err);

/* Number of a colour in the palette + 1; 0 and an error if there are too many. */
u32 run_color(struct run *run, struct state *state, u32 rgb, const struct stage *stage);

/* ---- entries that stand for several chunks ---- */

/* Joins entries again, by the keys of the stage. */
int entries_join(struct run *run, struct entries *self, const struct stage *stage);

/* Leaves in sel the chunks that entries stand for; the entries stay. */
void entries_narrow(struct run *run, struct state *state);

/* A key of entries, for value_of_entry; NULL and run->error. */
struct value_plan *run_plan_entries(struct run *run, const struct entries *entries,
				    const struct query_key *key);

/* Which value comes first; what is unknown comes last. */
static inline int compare_values(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return a < b ? -1 : a > b;
}

/* Goes on from a hash with a value; what is unknown is all alike. */
static inline u64 hash_value(u64 hash, double value)
{
	double plain = isnan(value) ? NAN : value + 0.0;
	u64 bits;

	memcpy(&bits, &plain, sizeof bits);
	return hash_u64(hash_u64(bits) + hash * 0x9e3779b97f4a7c15ull);
}

#endif
