/* SPDX-License-Identifier: MIT
 * The pointers that scans found, as model->graphs has them: the newest last, each with arrays of
 * its own, which are as large as they have to be. They can take more memory than all the rest of
 * a model, so whoever opens a trace asks for them (struct model_options). Nodes are in the order
 * of a search in depth from the roots: what points to each other is close together in memory. */
#ifndef STUDY_MODEL_GRAPHS_H
#define STUDY_MODEL_GRAPHS_H

#include "host/base/search.h"
#include "study/model/model.h"

/* A function of the model's sink: keeps a copy. */
int model_fill_graph(void *self, const struct stream_graph *graph, struct err *err);

/* Reads those of a trace into the model that was made of it. */
struct graphs_source {
	const char *path;
	int image;                     /* as of the model */
	const struct trace_info *info; /* what reading the model found */
};
int model_read_graphs(struct model *self, const struct graphs_source *from, struct err *err);

void model_release_graphs(struct model *self);

/* The node whose chunk has the i-th of all numbers: what must not depend on the search goes by
 * these. */
static inline u32 graph_node(const struct stream_graph *graph, u64 i)
{
	return graph->by_number ? graph->by_number[i] : (u32)i;
}

/* The number of the i-th chunk. */
static inline u64 graph_chunk(const struct stream_graph *graph, u64 i)
{
	return graph->chunks[graph_node(graph, i)];
}

/* The node of a chunk, UINT32_MAX = it was not live at the scan. */
static inline u32 graph_find(const struct stream_graph *graph, u64 chunk)
{
	u64 at = bisect(i, graph->chunk_count, graph_chunk(graph, i) < chunk);

	return at < graph->chunk_count && graph_chunk(graph, at) == chunk ? graph_node(graph, at)
									  : UINT32_MAX;
}

#endif
