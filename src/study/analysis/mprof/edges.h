/* SPDX-License-Identifier: MIT
 * The call graph behind the table: one node per function, one per cycle, and what went over each
 * edge. Every allocation counts once for a function and once for an edge, however often they are on
 * its stack, so recursion credits nobody twice. */
#ifndef STUDY_ANALYSIS_MPROF_EDGES_H
#define STUDY_ANALYSIS_MPROF_EDGES_H

#include "study/analysis/mprof/calls.h"

#define NO_CYCLE UINT32_MAX

struct mprof_node {
	struct mprof_sum total; /* of the function and all that it called */
	struct mprof_sum self;  /* allocated by the function itself */
	struct mprof_sum above; /* on behalf of any other function */
	struct mprof_sum below; /* by any other function that it called */
	struct mprof_sum again; /* on stacks where it called itself */
	u64 called, recur;      /* by others, by itself; calls on the stacks of allocations */
	u64 made;               /* calls of others */
	u32 cycle;              /* node of the cycle that it belongs to, or NO_CYCLE */
	u32 first;              /* orders nodes of the same size: as they appeared on stacks */
};

struct mprof_edge {
	u32 caller, callee; /* nodes, never the same one */
	struct mprof_sum sum;
	u64 calls;
};

struct mprof_edges {
	VEC(struct mprof_node) nodes; /* functions by their number, then cycles */
	VEC(struct mprof_edge) edges; /* between functions, then of cycles with functions */
	u32 functions;
	struct map by_ends; /* caller << 32 | callee → edge + 1 */
};

/* Released also after a failure; ERR_MEMORY is the only one. */
int mprof_edges_read(struct mprof_edges *self, const struct mprof_calls *calls, bool merge_cycles);
void mprof_edges_release(struct mprof_edges *self);

/* Edges by one of their ends: a node's are list[first[node]] to list[first[node + 1] - 1]. */
struct mprof_ends {
	u32 *first, *list;
};

/* Of that many nodes; false if there is no memory. */
bool mprof_edges_by(const struct mprof_edges *self, u64 nodes, bool by_caller, struct arena *arena,
		    struct mprof_ends *ends);

/* Numbers each function's strongly connected component into group[]; components are numbered from 0
 * on, *count is how many. */
int mprof_components(const struct mprof_edges *self, u32 *group, u32 *count);

#endif
