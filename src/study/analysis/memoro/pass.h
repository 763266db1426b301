/* SPDX-License-Identifier: MIT
 * What is added up for behaviour.h, for those in this room that take part in it: each chunk is told
 * when it is born and once more when it has ended, in the order of time. */
#ifndef STUDY_ANALYSIS_MEMORO_PASS_H
#define STUDY_ANALYSIS_MEMORO_PASS_H

#include "host/base/vec.h"
#include "study/analysis/memoro/behaviour.h"

enum { RUNS_OPEN = 8 };

/* A run that may go on: sums, and its newest chunk. */
struct open_run {
	u64 chunk;           /* the newest; its number may be another one's when it has ended */
	u64 size, end_ticks; /* of the newest; end 0 = it lives */
	u64 newest_bytes, newest_units;
	u64 from_bytes, bytes, units; /* of the run */
	u32 steps;
	u32 thread, free_context, free_thread; /* of the newest */
	u32 serial;                            /* of this run; 0 = a free place */
	u32 replaces; /* the run that it continues if that one's newest chunk ends now; 0 = none */
	bool latest;  /* no later chunk of its thread came from this point */
	bool realloc; /* every step was one */
};

struct open_runs {
	u32 serial, count; /* count: places that were ever taken */
	struct open_run runs[RUNS_OPEN];
};

/* Chunks of a point that were allocated close together in time. */
struct open_group {
	u64 first_ticks, newest_ticks, end_ticks; /* end: of the chunk that ended last */
	double life_sum, chunks;
};

struct point_state {
	VEC(struct open_group) groups; /* by time */
	u64 merge_at;                  /* when there are so many, what is close is merged */
	struct open_runs *runs;        /* NULL before the first chunk */
	u64 seen;
};

/* A life of which it is not known yet whether it is short. */
struct unsure_life {
	u32 point;
	u64 life, units, bytes;
};

struct pass {
	const struct model *model;
	const struct thresholds *limits;
	struct behaviour_table *table;
	struct point_state *states; /* by point */
	u64 room;                   /* of states, and of the points of the table */
	struct arena arena;
	u64 gap_ticks; /* between groups; 0 = the end is not known yet */
	/* Lives up to short_ticks are short, and those from long_ticks on are not. */
	u64 short_ticks, long_ticks;
	u64 rated; /* readings of the clock by which these were found */
	VEC(struct unsure_life) unsure;
	u64 growing_steps;
};

/* One chunk as the rules look at it. */
struct seen {
	const struct chunk_page *page;
	u32 k;
	u64 number;
	u64 size, units, bytes;
	double weight;
	u64 born, end, life;
	bool timed; /* its end is known */
	bool freed; /* by a call that was seen */
	bool measured;
	struct chunk_access access;
	u64 used; /* accessed bytes */
};

struct seen pass_see(const struct model *model, const struct chunk_page *page, u32 k, u64 number);

/* A limit that is too large is none. */
static inline u64 pass_limit(double number) { return number < 0x1p63 ? (u64)number : UINT64_MAX; }

/* ---- lifetimes.c ---- */

/* Groups are further apart than that, if the run ends then. */
u64 lifetimes_gap(const struct model *model, const struct thresholds *limits, u64 end_ticks);
/* A chunk of the point is born; false without memory. */
bool lifetimes_born(struct point_state *state, u64 born, u64 gap);
void lifetimes_ended(struct point_state *state, const struct seen *chunk);
void lifetimes_finish(struct point_state *state, struct behaviour *sums, u64 gap);

/* ---- growing.c ---- */

/* The same, of a point whose runs are there. */
void growing_born(struct open_runs *self, const struct pass *pass, struct behaviour *sums,
		  const struct seen *chunk);
void growing_ended(struct open_runs *self, const struct pass *pass, struct behaviour *sums,
		   const struct seen *chunk);

#endif
