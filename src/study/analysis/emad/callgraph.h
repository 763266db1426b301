/* SPDX-License-Identifier: MIT
 * Who calls whom, with names, as `heapwise trace callgraph` shows it: from a routine trace, or,
 * where there is none, from the stacks of the allocations. */
#ifndef STUDY_ANALYSIS_EMAD_CALLGRAPH_H
#define STUDY_ANALYSIS_EMAD_CALLGRAPH_H

#include "study/analysis/mprof/calls.h"
#include "study/analysis/emad/routine_graph.h"
#include "study/result/dot.h"
#include "study/result/result.h"

struct callgraph_node {
	const char *name;                   /* "prog+0x1234" if it is not known */
	const char *module;                 /* path, "" = unknown */
	u64 address;                        /* in the module; 0 from stacks */
	u64 calls;                          /* 0 from stacks */
	double inclusive_ns, exclusive_ns;  /* 0 from stacks */
	u64 allocations, bytes;             /* its own */
	u64 below_allocations, below_bytes; /* and of all that it called */
};

struct callgraph_edge {
	u32 caller, callee; /* nodes */
	u64 calls;          /* from stacks: allocations made below this call */
	u64 bytes;          /* from stacks: of those */
};

struct callgraph { /* all zero = empty and ready */
	bool from_stacks;
	bool unknown_clock; /* times are ticks */
	VEC(struct callgraph_node) nodes;
	VEC(struct callgraph_edge) edges; /* heaviest first */
	struct routine_counts counts;     /* of a routine trace */
	struct arena arena;
};

/* These fill an empty graph; released also after a failure. symbols may be NULL. */
int callgraph_of_routines(struct callgraph *self, const struct routine_graph *graph,
			  const struct symbol_table *symbols, struct err *err);
int callgraph_of_stacks(struct callgraph *self, const struct mprof_calls *calls, struct err *err);
void callgraph_release(struct callgraph *self);

/* By node: the number of its cycle, from 1 on, for functions that call each other, or themselves; 0
 * = in none. The caller's to free; NULL if there is no memory. */
u32 *callgraph_cycles(const struct callgraph *self);

/* A record with the tables "edges" and "routines"; rows after the first `top` of each are left out
 * (0 = none are). NULL and err on failure. */
struct result *callgraph_result(const struct callgraph *self, u64 top, struct err *err);

/* What was left out when a routine trace was recorded, and what did not fit together in it. */
void callgraph_add_caveats(struct result *result, const struct routine_graph *graph);

/* Whole, as DOT. False without memory. */
bool callgraph_render_dot(const struct callgraph *self, const char *name, FILE *out);

#endif
