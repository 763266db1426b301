/* SPDX-License-Identifier: MIT
 * Answers about single nodes.
 * Host. */
#include "study/analysis/owners/held.h"

#include "host/base/keyed.h"
#include "study/model/each.h"
#include "study/model/graphs.h"

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

	if (self->size_of[node] < UINT32_MAX)
		return self->size_of[node];
	return owners_chunk(self, node, &chunk) ? chunk.page->size[chunk.at] : 0;
}

u64 owners_edge_offset(const struct owners *self, u32 node, u64 edge)
{
	const struct stream_graph *graph = owners_graph(self);

	if (node < graph->chunk_count)
		return graph->edges[edge].from;
	return owner_roots_offset(&self->roots, node - (u32)graph->chunk_count, edge);
}

u64 owners_edge_to(const struct owners *self, u32 from, u32 to)
{
	const struct stream_graph *graph = owners_graph(self);

	for (u64 i = graph->starts[from]; i < graph->starts[from + 1]; i++)
		if (!edge_is_in(self->ignored, i) && graph->edges[i].target == to)
			return i;
	return UINT64_MAX;
}

u32 owners_node(const struct owners *self, u64 chunk)
{
	return graph_find(owners_graph(self), chunk);
}

u32 owners_add_kind(struct owners *self, const char *label, u8 what)
{
	const char *kept = names_keep(&self->names, label);
	u64 key = hash_text(HASH_START ^ what, kept);
	struct owner_kind *kind = vec_at_key(&self->kinds, &self->kind_by_label, key,
					     (struct owner_kind){.label = kept, .what = what});

	return kind ? (u32)(kind - self->kinds.data) : NONE;
}

/* ---- sums ---- */

static struct owner_sums *sums_of(const struct owner_summing *self, u32 node)
{
	return (struct owner_sums *)((char *)self->sums + self->set_of[node] * self->stride);
}

struct summing {
	const struct owners *owners;
	struct owner_summing *each;
	u32 count;
};

static void enter(const struct summing *self, u32 node)
{
	const struct owners *owners = self->owners;
	u64 bytes = owners_bytes(owners, node), retained = owners->tree.retained[node];

	for (u32 i = 0; i < self->count; i++) {
		struct owner_summing *summing = &self->each[i];
		struct owner_sums *sums = sums_of(summing, node);

		sums->chunks += node < owners_graph(owners)->chunk_count;
		sums->bytes += bytes;
		if (!summing->within[summing->set_of[node]]++)
			sums->retained += retained;
	}
}

static void leave(const struct summing *self, u32 node)
{
	for (u32 i = 0; i < self->count; i++)
		self->each[i].within[self->each[i].set_of[node]]--;
}

static void walk(const struct summing *self)
{
	const struct owners *owners = self->owners;
	u32 node = owners->tree.program;

	enter(self, node);
	for (;;) {
		u32 next = owners->first_child[node];

		while (next == NONE && node != owners->tree.program) {
			leave(self, node);
			next = owners->next_child[node];
			node = owners->tree.holder[node];
		}
		if (next == NONE)
			break;
		node = next;
		enter(self, node);
	}
}

bool owners_sum(const struct owners *self, struct owner_summing *summings, u32 count)
{
	bool good = true;

	for (u32 i = 0; i < count; i++) {
		summings[i].within = calloc(summings[i].sets + 1, sizeof *summings[i].within);
		good &= summings[i].within != NULL;
	}
	if (good)
		walk(&(struct summing){self, summings, count});
	for (u32 i = 0; i < count; i++)
		free(summings[i].within);
	return good;
}
