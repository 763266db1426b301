/* SPDX-License-Identifier: MIT
 * Answers about single nodes.
 * Host. */
#include "study/analysis/owners/held.h"

#include "host/base/keyed.h"
#include "host/base/search.h"
#include "study/model/each.h"

#define NONE UINT32_MAX

bool owners_chunk(const struct owners *self, u32 node, struct chunk *chunk)
{
	const struct stream_graph *graph = owners_graph(self);

	*chunk = (struct chunk){.model = self->model};
	return node < graph->chunk_count && graph->chunks[node] < self->model->chunks.count &&
	       chunk_take(chunk, graph->chunks[node]);
}

u64 owners_bytes(const struct owners *self, u32 node)
{
	struct chunk chunk;

	return owners_chunk(self, node, &chunk) ? chunk.page->size[chunk.at] : 0;
}

u64 owners_edge_offset(const struct owners *self, u32 node, u64 edge)
{
	const struct stream_graph *graph = owners_graph(self);

	if (node < graph->chunk_count)
		return graph->edges[edge].from;
	return owner_roots_offset(&self->roots, node - (u32)graph->chunk_count, edge);
}

u32 owners_node(const struct owners *self, u64 chunk)
{
	const struct stream_graph *graph = owners_graph(self);
	u64 at = bisect(i, graph->chunk_count, graph->chunks[i] < chunk);

	return at < graph->chunk_count && graph->chunks[at] == chunk ? (u32)at : NONE;
}

u32 owners_add_kind(struct owners *self, const char *label, u8 what)
{
	const char *kept = names_keep(&self->names, label);
	u64 key = hash_text(HASH_START ^ what, kept);
	struct owner_kind *kind = vec_at_key(&self->kinds, &self->kind_by_label, key,
					     (struct owner_kind){.label = kept, .what = what});

	return kind ? (u32)(kind - self->kinds.data) : NONE;
}
