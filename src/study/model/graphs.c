/* SPDX-License-Identifier: MIT
 * The pointers that scans found; see graphs.h. Host. Never recurses. */
#include "study/model/graphs.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/huge.h"

/* All of it is the model's own, but the names, which are in its arena. */
static void graph_free(struct stream_graph *graph)
{
	free((void *)graph->chunks);
	free((void *)graph->roots);
	free((void *)graph->starts);
	free((void *)graph->edges);
	free((void *)graph->contents);
	free((void *)graph->by_number);
	free((void *)graph->numbers);
}

/* ---- the order of nodes ---- */

#define UNSEEN UINT32_MAX

struct numbering {
	const struct stream_graph *graph;
	u32 *place; /* by node that was told: where it goes, UNSEEN */
	u32 *order; /* the other way round */
	u32 *stack;
	u32 count, depth;
};

static void see(struct numbering *self, u32 node)
{
	if (self->place[node] != UNSEEN)
		return;
	self->place[node] = 0;
	self->stack[self->depth++] = node;
	__builtin_prefetch(&self->graph->starts[node]);
}

static void see_targets(struct numbering *self, u64 node)
{
	const struct stream_graph *graph = self->graph;

	for (u64 i = graph->starts[node + 1]; i-- > graph->starts[node];)
		see(self, graph->edges[i].target);
	if (self->depth > 1)
		__builtin_prefetch(&graph->edges[graph->starts[self->stack[self->depth - 2]]]);
}

static void number_seen(struct numbering *self)
{
	while (self->depth) {
		u32 node = self->stack[--self->depth];

		self->place[node] = self->count;
		self->order[self->count++] = node;
		see_targets(self, node);
	}
}

/* From the roots first; what is left is lost. */
static void number_all(struct numbering *self)
{
	u64 chunks = self->graph->chunk_count, nodes = chunks + self->graph->root_count;

	memset(self->place, 0xff, chunks * sizeof *self->place);
	for (u64 root = chunks; root < nodes; root++) {
		see_targets(self, root);
		number_seen(self);
	}
	for (u32 node = 0; node < chunks; node++) {
		see(self, node);
		number_seen(self);
	}
	for (u64 root = chunks; root < nodes; root++)
		self->order[root] = (u32)root;
}

/* ---- copies ---- */

static void copy_edges(const struct numbering *self, u64 *starts, struct stream_edge *edges)
{
	enum { NEAR = 8, FAR = 16 };
	const struct stream_graph *from = self->graph;
	u64 nodes = from->chunk_count + from->root_count, count = 0;

	for (u64 i = 0; i < nodes; i++) {
		u32 node = self->order[i];

		if (i + FAR < nodes)
			__builtin_prefetch(&from->starts[self->order[i + FAR]]);
		if (i + NEAR < nodes)
			__builtin_prefetch(&from->edges[from->starts[self->order[i + NEAR]]]);
		starts[i] = count;
		for (u64 k = from->starts[node]; k < from->starts[node + 1]; k++)
			edges[count++] = from->edges[k];
	}
	starts[nodes] = count;
	for (u64 i = 0; i < count; i++)
		edges[i].target = self->place[edges[i].target];
}

static u32 new_node(const struct numbering *self, const struct stream_number *number)
{
	u32 node = (u32)(number->place >> 32);

	return node < self->graph->chunk_count ? self->place[node] : node;
}

/* The same numbers, of nodes in their new order; those of one node stay as they are. `ends` has
 * room for each node, and is zero. */
static void copy_numbers(const struct numbering *self, struct stream_number *numbers, u64 *ends)
{
	const struct stream_graph *from = self->graph;
	u64 nodes = from->chunk_count + from->root_count, count = 0;

	for (u64 i = 0; i < from->number_count; i++)
		ends[new_node(self, &from->numbers[i])]++;
	for (u64 i = 0; i < nodes; i++)
		ends[i] = count += ends[i];
	for (u64 i = from->number_count; i-- > 0;) {
		u32 node = new_node(self, &from->numbers[i]);

		numbers[--ends[node]] =
			(struct stream_number){number_place(node, (u32)from->numbers[i].place),
					       from->numbers[i].value};
	}
}

static bool copy_graph(struct numbering *self, struct stream_graph *own)
{
	const struct stream_graph *from = self->graph;
	u64 nodes = from->chunk_count + from->root_count;
	u64 *starts = huge_alloc(nodes + 1, sizeof *starts);
	u64 *chunks = huge_alloc(from->chunk_count + 1, sizeof *chunks);
	struct stream_edge *edges = huge_alloc(from->starts[nodes] + 1, sizeof *edges);
	struct stream_content *contents =
		from->contents ? huge_alloc(from->chunk_count + 1, sizeof *contents) : NULL;
	struct stream_number *numbers =
		from->numbers ? huge_alloc(from->number_count + 1, sizeof *numbers) : NULL;

	own->starts = starts;
	own->chunks = chunks;
	own->edges = edges;
	own->contents = contents;
	own->numbers = numbers;
	own->by_number = self->place;
	if (!starts || !chunks || !edges || (from->contents && !contents) ||
	    (from->numbers && !numbers) || !self->place || !self->order || !self->stack)
		return false;
	number_all(self);
	copy_edges(self, starts, edges);
	if (numbers && from->number_count) {
		u64 *ends = huge_zeroed(nodes + 1, sizeof *ends);

		if (!ends)
			return false;
		copy_numbers(self, numbers, ends);
		free(ends);
	}
	for (u64 i = 0; i < from->chunk_count; i++) {
		chunks[i] = from->chunks[self->order[i]];
		if (contents)
			contents[i] = from->contents[self->order[i]];
	}
	return true;
}

static bool names_copy(struct model *self, struct stream_root *roots, u64 count)
{
	const char *last = NULL, *own = NULL;

	for (u64 i = 0; i < count; i++) {
		/* frames of a stack all have none */
		if (!last || strcmp(roots[i].name, last) != 0)
			own = arena_copy(&self->arena, roots[i].name);
		if (!own)
			return false;
		last = roots[i].name = own;
	}
	return true;
}

int model_fill_graph(void *data, const struct stream_graph *graph, struct err *err)
{
	struct model *self = data;
	struct stream_graph own = *graph;
	u64 nodes = graph->chunk_count + graph->root_count;
	struct numbering numbering = {.graph = graph,
				      .place = huge_alloc(graph->chunk_count + 1, sizeof(u32)),
				      .order = huge_alloc(nodes + 1, sizeof(u32)),
				      .stack = huge_alloc(graph->chunk_count + 1, sizeof(u32))};
	struct stream_root *roots = reallocarray(NULL, graph->root_count + 1, sizeof *roots);
	bool good = copy_graph(&numbering, &own) && roots;

	own.roots = roots;
	if (good && own.root_count)
		memcpy(roots, graph->roots, own.root_count * sizeof *roots);
	good = good && names_copy(self, roots, own.root_count) && vec_push(&self->graphs, own);
	free(numbering.order);
	free(numbering.stack);
	if (good)
		return 0;
	graph_free(&own);
	return err_memory_for(err, "the model");
}

static int skip_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)self, (void)events, (void)count, (void)err;
	return 0;
}

/* Events need not be decoded, unless some are damaged, so that chunks have other numbers than the
 * file has. */
int model_read_graphs(struct model *self, const struct graphs_source *from, struct err *err)
{
	struct trace_read_options how = {.image = from->image, .only = !from->info->damaged_blocks};
	struct stream_sink sink = {.self = self, .graph = model_fill_graph};
	struct trace_reader *reader;
	int status;

	if (!from->info->graphs)
		return 0;
	reader = trace_open(from->path, err);
	if (!reader)
		return err && err->code < 0 ? err->code : ERR_INPUT;
	if (from->info->damaged_blocks)
		sink.events = skip_events;
	status = trace_read(reader, &how, &sink, err);
	trace_close(reader);
	return status;
}

void model_release_graphs(struct model *self)
{
	for (u64 i = 0; i < self->graphs.count; i++)
		graph_free(&self->graphs.data[i]);
	vec_release(&self->graphs);
}
