/* SPDX-License-Identifier: MIT
 * The pointers that scans found; see graphs.h. Host. */
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
}

static void *copy(const void *rows, u64 count, u64 each)
{
	void *own = huge_alloc(count + 1, each);

	if (own && count)
		memcpy(own, rows, count * each);
	return own;
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
	struct stream_root *roots = copy(graph->roots, graph->root_count, sizeof(*roots));

	own.roots = roots;
	own.chunks = copy(graph->chunks, graph->chunk_count, sizeof(*own.chunks));
	own.starts = copy(graph->starts, nodes + 1, sizeof(*own.starts));
	own.edges = copy(graph->edges, graph->starts[nodes], sizeof(*own.edges));
	if (graph->contents)
		own.contents = copy(graph->contents, graph->chunk_count, sizeof(*own.contents));
	if (!roots || (graph->contents && !own.contents) || !own.chunks || !own.starts ||
	    !own.edges || !names_copy(self, roots, own.root_count) ||
	    !vec_push(&self->graphs, own)) {
		graph_free(&own);
		return err_memory_for(err, "the model");
	}
	return 0;
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
