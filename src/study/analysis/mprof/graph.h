/* SPDX-License-Identifier: MIT
 * The allocation call graph of mprof: who asked whom for how much, by function. */
#ifndef STUDY_ANALYSIS_MPROF_GRAPH_H
#define STUDY_ANALYSIS_MPROF_GRAPH_H

#include "study/analysis/mprof/calls.h"

struct mprof_graph_query {
	bool keep_cycles; /* show what functions of a cycle ask of each other, do not merge them */
};

/* A table named "graph"; NULL and err on failure. */
struct result *analyse_mprof_graph(const struct mprof_calls *calls,
				   const struct mprof_graph_query *query, struct err *err);

#endif
