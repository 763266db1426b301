/* SPDX-License-Identifier: MIT
 * A run of one query: its stages, one after the other, each from a state to the next. For the
 * engine only. */
#ifndef STUDY_QUERY_RUN_H
#define STUDY_QUERY_RUN_H

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
	struct arena arena;         /* of plans */
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

/* An expression over the fields of an entry. */
struct entry_eval {
	struct run *run;
	const struct entries *entries;
	struct {
		const struct expr *expr;
		struct text_test test;
	} tests[64]; /* of the texts in it; further ones are made each time */
	u32 test_count;
};
double entry_number(struct entry_eval *self, const struct expr *expr, u64 entry);
bool entry_holds(struct entry_eval *self, const struct expr *expr, u64 entry);
double entry_key(struct entry_eval *self, const struct query_key *key, u64 entry);
void entry_eval_release(struct entry_eval *self);

/* Fields that any part of the query asks of entries. */
void query_used_fields(const struct query *query, bool used[FIELDS]);

#endif
