/* SPDX-License-Identifier: MIT
 * Answers about single nodes.
 * Host. */
#include "study/analysis/owners/held.h"

#include "host/base/huge.h"
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

u64 owners_large_bytes(const struct owners *self, u32 node)
{
	struct chunk chunk;

	return owners_chunk(self, node, &chunk) ? chunk.page->size[chunk.at] : 0;
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
	u32 holds = owners->first_child[node] != NONE;

	for (u32 i = 0; i < self->count; i++) {
		struct owner_summing *summing = &self->each[i];
		struct owner_sums *sums = sums_of(summing, node);

		sums->chunks += node < owners_graph(owners)->chunk_count;
		sums->bytes += bytes;
		if (!summing->within[summing->set_of[node]])
			sums->retained += retained;
		summing->within[summing->set_of[node]] += holds;
	}
}

static void leave(const struct summing *self, u32 node)
{
	for (u32 i = 0; i < self->count; i++)
		self->each[i].within[self->each[i].set_of[node]]--;
}

/* All nodes, each followed by those that it holds. */
static void list_nodes(const struct owners *self, u32 *list)
{
	u32 node = self->tree.program, next;
	u64 count = 0;

	for (list[count++] = node;; list[count++] = node = next) {
		next = self->first_child[node];
		while (next == NONE && node != self->tree.program) {
			next = self->next_child[node];
			node = self->tree.holder[node];
		}
		if (next == NONE)
			return;
	}
}

static void look_ahead(const struct summing *self, u32 node)
{
	__builtin_prefetch(&self->owners->tree.retained[node]);
	__builtin_prefetch(&self->owners->tree.holder[node]);
	__builtin_prefetch(&self->owners->size_of[node]);
	__builtin_prefetch(&self->owners->first_child[node]);
	for (u32 i = 0; i < self->count; i++)
		__builtin_prefetch(&self->each[i].set_of[node]);
}

static void walk(const struct summing *self, const u32 *list)
{
	enum { AHEAD = 16 };
	const struct dominators *tree = &self->owners->tree;
	u32 above = tree->program; /* that holds the node, or one that holds it */

	for (u64 i = 0; i < tree->node_count; i++) {
		u32 node = list[i];

		if (i + AHEAD < tree->node_count)
			look_ahead(self, list[i + AHEAD]);
		for (; above != tree->holder[node]; above = tree->holder[above])
			leave(self, above);
		enter(self, node);
		if (self->owners->first_child[node] != NONE)
			above = node;
	}
}

bool owners_sum(const struct owners *self, struct owner_summing *summings, u32 count)
{
	u32 *list = huge_alloc(self->tree.node_count + 1, sizeof *list);
	bool good = list;

	for (u32 i = 0; i < count; i++) {
		summings[i].within = calloc(summings[i].sets + 1, sizeof *summings[i].within);
		good &= summings[i].within != NULL;
	}
	if (good) {
		list_nodes(self, list);
		walk(&(struct summing){self, summings, count}, list);
	}
	free(list);
	for (u32 i = 0; i < count; i++)
		free(summings[i].within);
	return good;
}
