/* SPDX-License-Identifier: MIT
 * Who alone holds what: the dominator tree of a graph of pointers, and the bytes that each node
 * retains, which are those that would be freed with it. Defined in docs/METHODS.md, "Owners".
 *
 *	struct dominators tree = {0};
 *	struct dominators_query query = {.graph = graph, .bytes = bytes_of, .self = model};
 *	if (dominators_find(&tree, &query, err) < 0) ...
 *	for (u64 i = 1; i < tree.node_count; i++)
 *		use(tree.order[i], tree.holder[tree.order[i]], tree.retained[tree.order[i]]);
 *	dominators_release(&tree);
 *
 * Nodes are those of the graph, and two more: `lost`, which holds what no root leads to, and
 * `program`, which holds the roots and `lost`. */
#ifndef STUDY_ANALYSIS_OWNERS_DOMINATORS_H
#define STUDY_ANALYSIS_OWNERS_DOMINATORS_H

#include "study/model/graphs.h"

struct dominators_query {
	const struct stream_graph *graph;
	/* of the chunk at this place of the graph */
	u64 (*bytes)(const void *self, u32 chunk);
	const void *self;
	/* by edge: a bit that is set says that it does not count; NULL = all count */
	const u64 *ignored;
};

struct dominators { /* all zero = empty */
	u64 node_count;
	u32 lost, program;
	/* Of each node the one that holds it: each path from `program` to it leads through that
	 * one, and through no later one. That of `program` is itself. */
	u32 *holder;
	u32 *order;    /* all nodes, each after its holder */
	u64 *retained; /* of each node, its own bytes included */
	/* nodes that `lost` holds directly because nothing else leads to them, or only a ring that
	 * they are part of */
	u64 leader_count;
};

/* The numbers of its nodes alone, which dominators_find keeps. */
void dominators_number(struct dominators *self, const struct stream_graph *graph);

/* Whether edges lead to nodes, and each node has its own: graphs come from files. */
bool graph_is_sound(const struct stream_graph *graph);

/* Takes 24 bytes per node and 4 per edge in the meantime, besides the 16 per node that stay. The
 * graph must be sound. 0 or ERR_MEMORY. */
int dominators_find(struct dominators *self, const struct dominators_query *query, struct err *err);
void dominators_release(struct dominators *self);

/* For searches in breadth, which wait for memory most of the time: asks for what the nodes further
 * down the queue will need. `by_node` is looked up for the targets of their edges. */
static inline void graph_look_ahead(const struct stream_graph *graph, const u32 *queue, u64 left,
				    const u32 *by_node)
{
	enum { NEAR = 4, FAR = 16, EDGES = 4 };

	if (left > FAR)
		__builtin_prefetch(&graph->starts[queue[FAR]]);
	if (left > 2 * NEAR)
		__builtin_prefetch(&graph->edges[graph->starts[queue[2 * NEAR]]]);
	if (left <= NEAR)
		return;
	for (u64 i = graph->starts[queue[NEAR]], k = 0;
	     i < graph->starts[queue[NEAR] + 1] && k < EDGES; i++, k++)
		__builtin_prefetch(&by_node[graph->edges[i].target]);
}

/* Of a set of edges, a bit each; NULL = none is in it. */
static inline bool edge_is_in(const u64 *set, u64 edge)
{
	return set && set[edge / 64] >> (edge % 64) & 1;
}

#endif
