/* SPDX-License-Identifier: MIT
 * The pass of behaviour.h over the chunks, for those in this room that take part in it. */
#ifndef STUDY_ANALYSIS_MEMORO_PASS_H
#define STUDY_ANALYSIS_MEMORO_PASS_H

#include "study/analysis/memoro/behaviour.h"

enum { RUNS_OPEN = 8 };

/* A run that may go on: sums, and its newest chunk. */
struct open_run {
	u64 size, end_ticks; /* of the newest; end 0 = it was never freed, or a free slot */
	u64 newest_bytes, newest_units;
	u64 from_bytes, bytes, units;     /* of the run */
	u64 replaced_bytes, replaced_end; /* of the chunk before the newest */
	u32 steps;
	u32 thread, free_context, free_thread; /* of the newest */
	/* The last step is not counted yet; then the run without it has a slot, too. */
	bool pending;
	u32 serial, before; /* number of this run, and of the one without the last step */
	bool latest;        /* no later chunk of its thread came from this point */
	bool realloc;       /* every step was one */
};

/* Chunks of a point that were allocated close together in time. */
struct open_group {
	u64 first_ticks, newest_ticks, end_ticks; /* end: of the chunk that ended last */
	double life_sum, chunks;
};

struct point_state {
	struct open_group group;
	struct open_run *runs; /* RUNS_OPEN; NULL before the first chunk */
	u64 seen;
};

struct pass {
	const struct model *model;
	const struct thresholds *limits;
	struct behaviour_table *table;
	struct point_state *states; /* by point */
	struct arena arena;
	u64 gap_ticks, short_ticks, growing_steps;
};

/* One chunk as the rules look at it. */
struct seen {
	const struct chunk_page *page;
	u32 k;
	u64 size, units, bytes;
	double weight;
	u64 born, end, life;
	bool timed; /* its end is known */
	bool freed; /* by a call that was seen */
	bool measured;
	struct chunk_access access;
	u64 used; /* accessed bytes */
};

/* growing.c: a chunk of a point whose runs are there, and the end of the pass. */
void growing_add(const struct pass *pass, struct behaviour *self, struct point_state *state,
		 const struct seen *chunk);
void growing_close(const struct pass *pass, struct behaviour *self, struct open_run *runs);

#endif
