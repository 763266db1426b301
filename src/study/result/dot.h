/* SPDX-License-Identifier: MIT
 * A weighted directed graph in the language of Graphviz. Numbers of nodes are their ids there, so
 * that equal labels stay different nodes. */
#ifndef STUDY_RESULT_DOT_H
#define STUDY_RESULT_DOT_H

#include <stdio.h>

#include "format/types.h"

struct dot_node {
	const char *label;   /* any bytes */
	const char *remark;  /* a second line, or NULL */
	const char *tooltip; /* or NULL */
	double share;        /* 0 to 1: how dark it is */
};

struct dot_edge {
	u32 from, to;
	u64 weight; /* its label */
	bool faint; /* dashed */
};

struct dot_graph {
	const char *name;
	const struct dot_node *nodes;
	u64 node_count;
	const struct dot_edge *edges;
	u64 edge_count;
};

void render_dot(const struct dot_graph *graph, FILE *out);

#endif
