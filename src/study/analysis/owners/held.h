/* SPDX-License-Identifier: MIT
 * What is known of the owners of a heap; owners.h fills it. */
#ifndef STUDY_ANALYSIS_OWNERS_HELD_H
#define STUDY_ANALYSIS_OWNERS_HELD_H

#include "study/analysis/owners/dominators.h"
#include "study/analysis/owners/members.h"
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
	u64 *ignored;  /* by edge: those that do not count */
	u64 *doubtful; /* by edge: what only looks like a pointer */
	u64 doubtful_count;
	u32 *kind_of, *point_of, *shape_of; /* by node; point_of: points.count = no chunk */
	u32 *first_child, *next_child;      /* of the tree, by node: UINT32_MAX = none */
	/* By node: the one before it on a shortest way from a root, or from a chunk that leads the
	 * lost; of these themselves. And all nodes in the order of their distance. */
	u32 *came_from, *reached;
	u64 reached_count;
	/* By node: its declared type, NO_DECLARED = unknown, and where in a chunk objects of it
	 * begin: behind a cookie or counts. */
	u32 *type_of;
	u8 *base_of;
	struct owner_members members;
	VEC(struct owner_kind) kinds;
	VEC(struct owner_shape) shapes; /* each after its parent */
	struct owner_sums *points;      /* by point of the model, and one more */
	struct map kind_by_label, kind_by_place, kind_by_type, shape_by_key;
	struct names names;
};

/* The chunk of a node; false if it is none. */
struct chunk;
bool owners_chunk(const struct owners *self, u32 node, struct chunk *chunk);

/* Bytes of a node's own: 0 of roots. */
u64 owners_bytes(const struct owners *self, u32 node);

/* The node of a chunk, or UINT32_MAX if it was not live at the scan. */
u32 owners_node(const struct owners *self, u64 chunk);

/* Where in its node a pointer stands: of an edge of this node, by number. */
u64 owners_edge_offset(const struct owners *self, u32 node, u64 edge);

/* The kind that is called so, which is new or not; UINT32_MAX without memory. */
u32 owners_add_kind(struct owners *self, const char *label, u8 what);

static inline const struct stream_graph *owners_graph(const struct owners *self)
{
	return &self->roots.graph;
}

static inline const struct owner_kind *owners_kind(const struct owners *self, u32 node)
{
	return &self->kinds.data[self->kind_of[node]];
}

#endif
