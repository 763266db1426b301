/* SPDX-License-Identifier: MIT
 * The part of a call graph around one function. */
#ifndef STUDY_LAYOUT_CALLS_H
#define STUDY_LAYOUT_CALLS_H

#include "study/open/study.h"

enum { CALLS_NODES_MAX = 150 };

enum calls_metric { CALLS_ALLOCS, CALLS_BYTES };

struct calls_query {
	i64 center;   /* node of the graph; -1 = the one that allocates most itself */
	u32 up, down; /* calls from there */
	enum calls_metric metric;
	double min; /* share of the whole below which a node is left out */
};

struct calls_node {
	u32 node; /* of the graph */
	double self, total;
	u32 hidden_in, hidden_out; /* edges to nodes that are left out */
	u8 severity;               /* the worst of the points that it allocates at, 0 = unknown */
	u32 cycle;                 /* number of the functions that call each other, 0 = none */
};

struct calls_view { /* all zero = empty */
	const struct callgraph *graph;
	u32 center;
	double whole;
	VEC(struct calls_node) nodes; /* heaviest first */
	VEC(u32) edges;               /* of the graph, heaviest first, between these nodes */
	u64 found;                    /* nodes before the limit */
};

/* Node by number or by name; -1 = there is none. Of several of a name the heaviest. */
i64 calls_find(const struct callgraph *graph, const char *text);

int calls_view_make(struct calls_view *self, struct study *trace, const struct calls_query *query,
		    struct err *err);
void calls_view_release(struct calls_view *self);

double calls_self(const struct callgraph_node *node, enum calls_metric metric);
double calls_total(const struct callgraph_node *node, enum calls_metric metric);

#endif
