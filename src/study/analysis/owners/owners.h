/* SPDX-License-Identifier: MIT
 * Who holds the memory of a program at a scan: own and retained bytes of roots, chunks, types and
 * allocation points, and the tree of owners by their shape. Defined in docs/METHODS.md, "Owners".
 *
 *	struct owners owners = {0};
 *	struct owners_query query = {.graph = graph, .types = &types};
 *	if (owners_make(&owners, &query, err) < 0) ...
 *	use(owners.tree.retained[node]);
 *	owners_release(&owners);
 */
#ifndef STUDY_ANALYSIS_OWNERS_OWNERS_H
#define STUDY_ANALYSIS_OWNERS_OWNERS_H

#include "study/analysis/owners/dominators.h"
#include "study/analysis/owners/roots.h"
#include "study/analysis/typing/types.h"

struct owners_query {
	const struct stream_graph *graph;
	/* also has the model and the stacks; asked for each chunk */
	struct type_cascade *types;
};

enum owner_what {
	OWNER_PROGRAM,
	OWNER_SEVERAL, /* what no single root holds, by the nearest of them */
	OWNER_LOST,    /* what no root leads to */
	OWNER_ROOT,
	OWNER_TYPE,  /* chunks of a type */
	OWNER_PLACE, /* chunks without a known type, by the place that allocates */
	OWNER_WHATS
};

/* A set of nodes. What is held by another one of the set is retained once. */
struct owner_sums {
	u64 chunks;
	u64 bytes; /* of its own */
	u64 retained;
};

/* Nodes that are called alike. */
struct owner_kind {
	const char *label; /* "Session", "make_node (tree.c:12)", "server (data of main)" */
	u8 what;           /* enum owner_what */
	struct owner_sums sums;
};

/* Nodes that are called alike and whose owners are. One that is held by its like, at once or with
 * few others between, is part of the same shape: a list, a tree. */
struct owner_shape {
	u32 parent; /* shape; of the first, which is the program, itself */
	u32 kind;
	u32 depth;   /* below the program */
	u32 largest; /* the node that retains most */
	u64 nodes;   /* roots are no chunks, but nodes */
	struct owner_sums sums;
};

struct owners { /* all zero = empty */
	struct owners_query query;
	const struct model *model;
	struct owner_roots roots; /* and the graph with them */
	struct dominators tree;
	u64 *ignored;                       /* by edge: those that do not count */
	u32 *kind_of, *point_of, *shape_of; /* by node; point_of: points.count = no chunk */
	u32 *first_child, *next_child;      /* of the tree, by node: UINT32_MAX = none */
	VEC(struct owner_kind) kinds;
	VEC(struct owner_shape) shapes; /* each after its parent */
	struct owner_sums *points;      /* by point of the model, and one more */
	struct map kind_by_label, kind_by_place, kind_by_type, shape_by_key;
	struct names names;
};

int owners_make(struct owners *self, const struct owners_query *query, struct err *err);
void owners_release(struct owners *self);

/* Bytes of a node's own: 0 of roots. */
u64 owners_bytes(const struct owners *self, u32 node);

/* The node of a chunk, or UINT32_MAX if it was not live at the scan. */
u32 owners_node(const struct owners *self, u64 chunk);

static inline const struct stream_graph *owners_graph(const struct owners *self)
{
	return &self->roots.graph;
}

static inline const struct owner_kind *owners_kind(const struct owners *self, u32 node)
{
	return &self->kinds.data[self->kind_of[node]];
}

#endif
