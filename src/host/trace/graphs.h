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

/* The next block of its contents, or of its numbers, which come before it; NULL without memory.
 * *next counts what was looked at, chunks or numbers, and *row the rows so far. */
struct parcel *contents_take(const struct stream_graph *graph, u64 *next, u64 *row);
struct parcel *numbers_take(const struct stream_graph *graph, u64 *next, u64 *row);

/* Steps from one place in a node to another: nearly all are a number of words. */
static inline u64 word_step(u64 bytes) { return bytes % 8 ? bytes << 1 | 1 : bytes >> 2; }
static inline u64 word_step_bytes(u64 code) { return code & 1 ? code >> 1 : code << 2; }

struct decoder;
struct guard;

struct content_row {
	u32 node;
	struct stream_content content;
};

/* Rows that are gathered before their graph. All zero = none. */
struct rows_gather {
	u64 ticks, node_count, row_count; /* as the blocks say; nodes that rows may be of */
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
	struct rows_gather contents, numbers;
	VEC(struct content_row) content_rows;
	VEC(struct stream_number) number_rows;
	struct stream_content *told; /* contents of each chunk of the graph */
};

/* Tells the graph with its last block. One with a block that is missing is not told: who holds what
 * would be wrong. 0; or a negative code of the sink, with err filled; or BLOCK_CONTENT. */
int graph_tell(struct graph_gather *self, const struct block *block, struct err *err);

/* Take a block of contents, or of numbers, which are told with the graph; those with a block that
 * is missing are not. 0, ERR_MEMORY or BLOCK_CONTENT. */
int contents_gather(struct graph_gather *self, const struct block *block, struct err *err);
int numbers_gather(struct graph_gather *self, const struct block *block, struct err *err);

/* Contents and numbers that were gathered become the graph's, if they are of it and whole; others
 * are forgotten. */
int graph_rows_fill(struct graph_gather *self, struct err *err);

/* Forgets what was gathered: of the graph, and what came before it. */
void graph_gather_release(struct graph_gather *self);
void graph_rows_release(struct graph_gather *self);

#endif
