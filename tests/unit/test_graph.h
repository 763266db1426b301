/* SPDX-License-Identifier: MIT
 * Graphs of pointers for tests: edges are told in any order, and made a stream_graph of. Included
 * once per test executable. */
#ifndef UNIT_TEST_GRAPH_H
#define UNIT_TEST_GRAPH_H

#include <stdlib.h>
#include <string.h>

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"
#include "lib/test.h"

struct made_edge {
	u32 source;
	struct stream_edge edge;
};

struct made_graph {
	struct stream_graph graph;
	u64 *bytes; /* of chunks */
	VEC(struct made_edge) told;
	u64 *chunks, *starts;
	struct stream_root *roots;
	struct stream_edge *edges;
};

static struct made_graph graph_new(u64 chunks, u64 roots)
{
	struct made_graph self = {.graph = {.chunk_count = chunks, .root_count = roots}};

	self.bytes = calloc(chunks + 1, sizeof *self.bytes);
	self.chunks = calloc(chunks + 1, sizeof *self.chunks);
	self.roots = calloc(roots + 1, sizeof *self.roots);
	self.starts = calloc(chunks + roots + 1, sizeof *self.starts);
	if (!self.bytes || !self.chunks || !self.roots || !self.starts)
		FAIL("no memory");
	for (u64 i = 0; i < chunks; i++)
		self.chunks[i] = i;
	for (u64 i = 0; i < roots; i++)
		self.roots[i].name = "";
	return self;
}

static __attribute__((unused)) u64 graph_bytes(const void *self, u32 chunk)
{
	return ((const struct made_graph *)self)->bytes[chunk];
}

static void graph_edge(struct made_graph *self, u32 from, u32 to, u32 offset)
{
	if (!vec_push(&self->told, (struct made_edge){from, {to, offset, 0}}))
		FAIL("no memory");
}

static int order_edges(const void *a, const void *b)
{
	const struct made_edge *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->edge.from < y->edge.from ? -1 : x->edge.from > y->edge.from;
}

/* After the last edge; the graph is then self->graph. */
static void graph_make(struct made_graph *self)
{
	u64 nodes = self->graph.chunk_count + self->graph.root_count, at = 0;

	if (self->told.count)
		qsort(self->told.data, self->told.count, sizeof *self->told.data, order_edges);
	self->edges = calloc(self->told.count + 1, sizeof *self->edges);
	if (!self->edges)
		FAIL("no memory");
	for (u64 node = 0; node < nodes; node++) {
		for (; at < self->told.count && self->told.data[at].source == node; at++)
			self->edges[at] = self->told.data[at].edge;
		self->starts[node + 1] = at;
	}
	self->graph.chunks = self->chunks;
	self->graph.roots = self->roots;
	self->graph.starts = self->starts;
	self->graph.edges = self->edges;
}

static void graph_release(struct made_graph *self)
{
	free(self->bytes);
	free(self->chunks);
	free(self->roots);
	free(self->starts);
	free(self->edges);
	vec_release(&self->told);
}

#endif
