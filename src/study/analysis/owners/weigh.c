/* SPDX-License-Identifier: MIT
 * Finds the pointers that do not count: one search, the strongest roots first.
 * Host. Never recurses. */
#include "study/analysis/owners/weigh.h"

#include "host/base/huge.h"
#include "host/base/order.h"
#include "host/base/path.h"
#include "study/analysis/owners/dominators.h"
#include "study/analysis/places/stacks.h"

struct weighing {
	const struct stream_graph *graph;
	const u64 *doubtful; /* by edge: those that count last */
	u32 *turn;           /* by node: in which it was seen, from 1 on; 0 = not */
	u32 turns;
	u32 doubts[2]; /* turns in which doubtful edges were followed */
	u32 *queue;    /* all nodes that were seen */
	u64 seen, done;
};

static void see(struct weighing *self, u32 node)
{
	if (self->turn[node])
		return;
	self->turn[node] = self->turns;
	self->queue[self->seen++] = node;
}

static void see_edges(struct weighing *self, u32 node, bool doubtful_only, const u64 *without)
{
	const u64 *starts = self->graph->starts;

	for (u64 i = starts[node]; i < starts[node + 1]; i++)
		if (!edge_is_in(without, i) && (!doubtful_only || edge_is_in(self->doubtful, i)))
			see(self, self->graph->edges[i].target);
}

/* All that the nodes in the queue lead to. */
static void spread(struct weighing *self, const u64 *without)
{
	for (; self->done < self->seen; self->done++) {
		const u32 *next = self->queue + self->done;

		graph_look_ahead(self->graph, next, self->seen - self->done, self->turn);
		see_edges(self, *next, false, without);
	}
}

/* What only doubtful edges lead to, from all that was seen so far. */
static void spread_doubts(struct weighing *self, u32 which)
{
	u64 nodes = self->graph->chunk_count + self->graph->root_count;

	self->doubts[which] = ++self->turns;
	for (u64 node = 0; self->doubtful && node < nodes; node++)
		if (self->turn[node] && self->turn[node] < self->turns) {
			see_edges(self, (u32)node, true, NULL);
			spread(self, NULL);
		}
}

/* ---- the order of roots ---- */

enum rank {
	RANK_DATA,   /* variables, of threads, too */
	RANK_SYSTEM, /* of the C and C++ libraries and the loader: lists of their allocator */
	RANK_MAPPING,
	RANK_STACK, /* each frame by itself */
	RANK_REGISTER,
};

struct ranked {
	u32 node;
	u32 rank;
	u32 tid;
	u64 order; /* of frames */
};

static u32 rank_of(const struct stream_root *root)
{
	switch (root->kind) {
	case ROOT_DATA: return library_is_system(path_file(root->name)) ? RANK_SYSTEM : RANK_DATA;
	case ROOT_STACK: return RANK_STACK;
	case ROOT_REGISTER: return RANK_REGISTER;
	case ROOT_MAPPING: return RANK_MAPPING;
	default: return RANK_DATA;
	}
}

/* Stacks grow downwards: outer frames have higher addresses. What a frame has is in the order that
 * roots.h defines. */
static int strongest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return rising(x->rank, y->rank)
		       ?: rising(x->tid, y->tid)
		       ?: falling(x->order, y->order)
		       ?: rising(x->node, y->node);
}

/* Whether two roots share what they lead to. */
static bool is_same_turn(const struct ranked *a, const struct ranked *b)
{
	if (a->rank != b->rank || a->rank != RANK_STACK)
		return a->rank == b->rank;
	return a->tid == b->tid && a->order == b->order && owner_frame_is_object(a->order);
}

/* ---- all ---- */

static void search(struct weighing *self, const struct ranked *roots, u64 count)
{
	bool doubted = false;

	for (u64 i = 0; i < count; i++) {
		if (!doubted && roots[i].rank >= RANK_STACK) {
			spread_doubts(self, 0);
			doubted = true;
		}
		if (!i || !is_same_turn(&roots[i - 1], &roots[i]))
			self->turns++;
		see(self, roots[i].node);
		/* roots of one turn share what they lead to */
		spread(self, self->doubtful);
	}
	spread_doubts(self, 1);
}

static bool counts(const struct weighing *self, u32 node, u64 edge)
{
	u32 turn = self->turn[self->graph->edges[edge].target];

	return turn >= self->turn[node] && (!turn || !edge_is_in(self->doubtful, edge) ||
					    turn == self->doubts[0] || turn == self->doubts[1]);
}

/* What was seen in an earlier turn is not held by what was seen later, and what was seen without
 * doubt is not held by what is doubtful. */
static void ignore(const struct weighing *self, u64 nodes, u64 *ignored)
{
	const struct stream_graph *graph = self->graph;

	for (u64 node = 0; node < nodes; node++)
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
			if (!counts(self, (u32)node, i))
				ignored[i / 64] |= 1ull << (i % 64);
}

u64 *owner_weigh(const struct owner_roots *named, const u64 *doubtful)
{
	const struct stream_graph *graph = &named->graph;
	u64 nodes = graph->chunk_count + graph->root_count;
	u64 *ignored = calloc(graph->starts[nodes] / 64 + 1, sizeof *ignored);
	struct weighing self = {.graph = graph,
				.doubtful = doubtful,
				.turn = huge_zeroed(nodes + 1, sizeof *self.turn),
				.queue = huge_alloc(nodes + 1, sizeof *self.queue)};
	VEC(struct ranked) roots = {0};
	bool good = ignored && self.turn && self.queue && vec_reserve(&roots, graph->root_count);

	for (u64 i = 0; i < graph->root_count && good; i++) {
		const struct stream_root *root = &graph->roots[i];

		vec_push(&roots, (struct ranked){(u32)(graph->chunk_count + i), rank_of(root),
						 root->tid, named->names.data[i].order});
	}
	if (good) {
		vec_sort(&roots, strongest_first);
		search(&self, roots.data, roots.count);
		ignore(&self, nodes, ignored);
	}
	vec_release(&roots);
	free(self.turn);
	free(self.queue);
	if (good)
		return ignored;
	free(ignored);
	return NULL;
}
