/* SPDX-License-Identifier: MIT
 * Finds the pointers that do not count: one search, root after root, the strongest first.
 * Host. Never recurses. */
#include "study/analysis/owners/weigh.h"

#include "host/base/order.h"

struct weighing {
	const struct stream_graph *graph;
	u64 *ignored; /* by edge */
	u64 *seen;    /* by node */
	VEC(u32) stack;
	bool failed;
};

static bool bit_get(const u64 *bits, u64 at) { return bits[at / 64] >> (at % 64) & 1; }
static void bit_set(u64 *bits, u64 at) { bits[at / 64] |= 1ull << (at % 64); }

static void see(struct weighing *self, u32 node)
{
	if (bit_get(self->seen, node))
		return;
	bit_set(self->seen, node);
	self->failed |= !vec_push(&self->stack, node);
}

/* All that the nodes on the stack lead to. */
static void spread(struct weighing *self)
{
	const u64 *starts = self->graph->starts;

	while (self->stack.count) {
		u32 node = self->stack.data[--self->stack.count];

		for (u64 i = starts[node]; i < starts[node + 1]; i++)
			see(self, self->graph->edges[i].target);
	}
}

/* ---- the order of roots ---- */

struct ranked {
	u32 node;
	u32 rank; /* lowest first */
	u32 tid;
	u64 address;
};

static u32 rank_of(const struct stream_root *root)
{
	if (root->kind == ROOT_STACK)
		return 1;
	return root->kind == ROOT_REGISTER ? 2 : 0;
}

/* Stacks grow downwards: outer frames have higher addresses. */
static int strongest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return rising(x->rank, y->rank)
		       ?: rising(x->tid, y->tid) ?: falling(x->address, y->address)
			       ?: rising(x->node, y->node);
}

static void weigh_root(struct weighing *self, const struct ranked *root)
{
	const struct stream_graph *graph = self->graph;
	u64 first = graph->starts[root->node], end = graph->starts[root->node + 1];

	/* two pointers of one root to the same chunk count alike */
	for (u64 i = first; i < end && root->rank; i++)
		if (bit_get(self->seen, graph->edges[i].target))
			bit_set(self->ignored, i);
	see(self, root->node);
	spread(self);
}

u64 *owner_weigh(const struct stream_graph *graph)
{
	u64 nodes = graph->chunk_count + graph->root_count;
	struct weighing self = {.graph = graph};
	VEC(struct ranked) roots = {0};

	self.ignored = calloc(graph->starts[nodes] / 64 + 1, sizeof *self.ignored);
	self.seen = calloc(nodes / 64 + 1, sizeof *self.seen);
	self.failed = !self.ignored || !self.seen || !vec_reserve(&roots, graph->root_count);
	for (u64 i = 0; i < graph->root_count && !self.failed; i++) {
		const struct stream_root *root = &graph->roots[i];

		vec_push(&roots, (struct ranked){(u32)(graph->chunk_count + i), rank_of(root),
						 root->tid, root->address});
	}
	if (!self.failed)
		vec_sort(&roots, strongest_first);
	for (u64 i = 0; i < roots.count && !self.failed; i++)
		weigh_root(&self, &roots.data[i]);
	vec_release(&roots);
	vec_release(&self.stack);
	free(self.seen);
	if (!self.failed)
		return self.ignored;
	free(self.ignored);
	return NULL;
}
