/* SPDX-License-Identifier: MIT
 * Graphs of pointers, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_GRAPHS_H
#define HOST_TRACE_GRAPHS_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/columns.h"
#include "host/trace/stream.h"

/* How far a graph is written. All zero = not at all. */
struct graph_place {
	u64 node, edge; /* that come next; the edge may be in the middle of its node */
};

/* The next block of it; NULL if there is no memory. A graph has at least one. */
struct parcel *graph_take(const struct stream_graph *graph, struct graph_place *place);
bool graph_is_written(const struct stream_graph *graph, const struct graph_place *place);

/* The next block of its contents, from the chunk *node on, which come before it; NULL without
 * memory. *row counts the rows so far. */
struct parcel *contents_take(const struct stream_graph *graph, u64 *node, u64 *row);

struct decoder;
struct guard;

struct content_row {
	u32 node;
	struct stream_content content;
};

/* Contents that are gathered before their graph. All zero = none. */
struct contents_gather {
	u64 ticks, chunk_count, row_count;
	VEC(struct content_row) rows;
	bool open;
};

/* The blocks of a graph, gathered. All zero = none. */
struct graph_gather {
	const struct decoder *decoder; /* knows the chunks' numbers; NULL = as the file has them */
	struct guard *guard;
	struct stream_graph graph; /* what the blocks say of the whole; arrays are below */
	u64 edge_count;
	VEC(u64) chunks;
	VEC(u64) starts;
	VEC(struct stream_root) roots;
	VEC(struct stream_edge) edges;
	struct arena names; /* of the roots */
	bool open;          /* the graph has begun */
	struct contents_gather contents;
	struct stream_content *told; /* contents of each chunk of the graph */
};

/* Tells the graph with its last block. One with a block that is missing is not told: who holds what
 * would be wrong. 0; or a negative code of the sink, with err filled; or BLOCK_CONTENT. */
int graph_tell(struct graph_gather *self, const struct block *block, struct err *err);

/* Takes a block of contents, which are told with the graph; those with a block that is missing are
 * not. 0, ERR_MEMORY or BLOCK_CONTENT. */
int contents_gather(struct graph_gather *self, const struct block *block, struct err *err);

/* Forgets what was gathered. */
void graph_gather_release(struct graph_gather *self);
void contents_gather_release(struct contents_gather *self);

#endif
