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

enum container_sort {
	CONTAINER_ARRAY,    /* of elements, one behind the other */
	CONTAINER_POINTERS, /* array of pointers to elements that are alike */
	CONTAINER_TEXT,
	CONTAINER_DEQUE,
	CONTAINER_LIST,
	CONTAINER_TREE,
	CONTAINER_TABLE, /* hash table, with chains or without */
	CONTAINER_NODES, /* elements that point to each other, in some other way */
	/* std::shared_ptr: none, but found like them */
	CONTAINER_SHARED,
	CONTAINER_SORTS
};

#define CONTAINER_UNKNOWN UINT64_MAX

/* One container of the program. Chunks that are its own, its buffer or its nodes, are its parts. */
struct owner_container {
	u32 holder;       /* node that it begins in: */
	u64 offset;       /* with a pointer or an object at this offset */
	u32 first;        /* chunk that this leads to; the holder, if an array is a part of that */
	u8 sort;          /* enum container_sort */
	const char *type; /* "std::map<int, Foo>"; "" = recognised by shape */
	u64 elements;     /* CONTAINER_UNKNOWN: only the program's bytes say it */
	u64 capacity;     /* places, or buckets; CONTAINER_UNKNOWN = has none, as a list */
	u64 slack_bytes;  /* of places without elements; CONTAINER_UNKNOWN */
	struct owner_sums sums; /* of its parts */
};

struct owners { /* all zero = empty */
	struct owners_query query;
	const struct model *model;
	struct owner_roots roots; /* and the graph with them */
	struct dominators tree;
	u64 *ignored;  /* by edge: those that do not count */
	u64 *doubtful; /* by edge: what may be no pointer, or not to there */
	u64 doubtful_count;
	u32 *kind_of, *point_of, *shape_of; /* by node; point_of: points.count = no chunk */
	u32 *size_of; /* by node: its bytes, UINT32_MAX = that or more; owners_bytes has all */
	u32 *first_child, *next_child; /* of the tree, by node: UINT32_MAX = none */
	/* By node: the one before it on a shortest way from a root, or from a chunk that leads the
	 * lost; of these themselves. And all nodes in the order of their distance. */
	u32 *came_from, *reached;
	u64 reached_count;
	/* By node: its declared type, NO_DECLARED = unknown, and where in a chunk objects of it
	 * begin: behind a cookie or counts. */
	u32 *type_of;
	u8 *base_of;
	struct owner_members members;
	/* The first is none. By node: the container that it is a part of, 0 = of none. Those that
	 * retain less than a millionth of all bytes are left out; more than a million others are
	 * only counted. */
	VEC(struct owner_container) containers;
	u32 *container_of;
	u64 containers_left;
	/* By node: the std::shared_ptr that own what has its counts in this chunk; NULL = there are
	 * none. */
	u32 *sharers;
	VEC(struct owner_kind) kinds;
	VEC(struct owner_shape) shapes; /* each after its parent */
	struct owner_sums *points;      /* by point of the model, and one more */
	struct map kind_by_label, kind_by_place, kind_by_type, shape_by_key;
	struct names names;
};

/* The chunk of a node; false if it is none. */
struct chunk;
bool owners_chunk(const struct owners *self, u32 node, struct chunk *chunk);

/* The node of a chunk, or UINT32_MAX if it was not live at the scan. */
u32 owners_node(const struct owners *self, u64 chunk);

/* Sums of sets of nodes, which are `stride` bytes apart; some divisions into sets at once. */
struct owner_summing {
	const u32 *set_of; /* by node */
	u64 sets;
	struct owner_sums *sums;
	u64 stride;
	u32 *within; /* scratch: by set, nodes above this one that are in it */
};
bool owners_sum(const struct owners *self, struct owner_summing *summings, u32 count);

/* The first pointer from one node to another that counts, UINT64_MAX = there is none. */
u64 owners_edge_to(const struct owners *self, u32 from, u32 to);

/* The kind that is called so, which is new or not; UINT32_MAX without memory. */
u32 owners_add_kind(struct owners *self, const char *label, u8 what);

static inline const struct stream_graph *owners_graph(const struct owners *self)
{
	return &self->roots.graph;
}

u64 owners_large_bytes(const struct owners *self, u32 node);

/* Bytes of a node's own: 0 of roots. */
static inline u64 owners_bytes(const struct owners *self, u32 node)
{
	return likely(self->size_of[node] < UINT32_MAX) ? self->size_of[node]
							: owners_large_bytes(self, node);
}

/* Where in its node a pointer stands: of an edge of this node, by number. */
static inline u64 owners_edge_offset(const struct owners *self, u32 node, u64 edge)
{
	const struct stream_graph *graph = owners_graph(self);

	if (likely(node < graph->chunk_count))
		return graph->edges[edge].from;
	return owner_roots_offset(&self->roots, node - (u32)graph->chunk_count, edge);
}

static inline const struct owner_kind *owners_kind(const struct owners *self, u32 node)
{
	return &self->kinds.data[self->kind_of[node]];
}

#endif
