/* SPDX-License-Identifier: MIT
 * What stands for each frame of a trace, for join and unify. For the engine only. */
#ifndef STUDY_QUERY_FRAMES_H
#define STUDY_QUERY_FRAMES_H

#include "study/query/run.h"

/* By frame: the nearest caller (or itself) that is not hidden. */
int visible_frames(struct run *run, const struct state *state, u32 trace, u32 **out);

/* By frame: the one that it becomes part of. From the innermost frames outwards: what has less
 * than the limit is its caller's. */
int unify_frames(struct run *run, struct state *state, u32 trace, u64 limit, u32 **out);

/* By context: the number of its stack, hidden frames left out. Stacks of several traces are the
 * same if their functions are, and have the same number. */
struct stack_numbers {
	struct map by_hash;
	u64 count;
};
int number_stacks(struct run *run, const struct state *state, u32 trace,
		  struct stack_numbers *numbers, double **out);

#endif
