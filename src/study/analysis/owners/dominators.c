/* SPDX-License-Identifier: MIT
 * Dominators by the algorithm "Semi-NCA" of Georgiadis, Tarjan and Werneck (Finding Dominators in
 * Practice, 2006): semidominators as Lengauer and Tarjan find them, then nearest common ancestors.
 * Vertices are nodes by their number in a depth-first search, 0 is `program`.
 * Host. Never recurses: a list of ten million chunks is as deep as it is long. */
#include "study/analysis/owners/dominators.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/huge.h"
#include "host/base/vec.h"

#define UNSEEN UINT32_MAX

struct vertex {
	u32 ancestor; /* first the parent in the search, later one above it that was linked */
	u32 label;    /* the vertex with the smallest semidominator on the way to the ancestor */
	u32 semi;
	u32 holder;
};

/* An edge between vertices. What is changed for one is asked for when it comes, and changed when so
 * many others have come: it waits for memory otherwise. */
struct pred {
	u32 from, to;
};

enum { PENDING = 16 }; /* a power of two */

struct search {
	const struct dominators_query *query;
	struct dominators *out;
	u32 node_count; /* of the graph */
	u32 *number;    /* of each node: its vertex, UNSEEN */
	u32 seen;       /* vertices so far */
	u32 lost;       /* vertex of `lost`: what is lost has no lower number */
	u32 *at;        /* by vertex on the way: its next edge; later a stack */
	struct vertex *vertices;
	u64 *pred_starts; /* by vertex, and one more */
	u32 *preds;       /* vertices */
	VEC(u32) leaders;
	struct pred pending[PENDING]; /* the last ones, in a ring */
	u32 pending_next;
};

/* ---- the graph ---- */

static u64 graph_nodes(const struct stream_graph *graph)
{
	return graph->chunk_count + graph->root_count;
}

bool graph_is_sound(const struct stream_graph *graph)
{
	u64 nodes = graph_nodes(graph);

	if (graph->chunk_count >= UNSEEN - 2 || graph->root_count >= UNSEEN - 2 ||
	    nodes >= UNSEEN - 2 || graph->starts[0] != 0)
		return false;
	for (u64 i = 0; i < nodes; i++)
		if (graph->starts[i] > graph->starts[i + 1] ||
		    graph->starts[i + 1] - graph->starts[i] >= UINT32_MAX)
			return false;
	for (u64 i = 0; i < graph->starts[nodes]; i++)
		if (graph->edges[i].target >= nodes)
			return false;
	return true;
}

/* Of the two nodes that the graph does not have. */
static bool successor_added(const struct search *self, u32 node, u32 at, u32 *target)
{
	const struct stream_graph *graph = self->query->graph;

	if (node == self->out->program) {
		*target = (u32)graph->chunk_count + at;
		return at < graph->root_count;
	}
	*target = at < self->leaders.count ? self->leaders.data[at] : UNSEEN;
	return at < self->leaders.count;
}

/* The at-th node that a node leads to: one of the graph, UNSEEN if that edge does not count; false
 * after the last. */
static inline bool successor(const struct search *self, u32 node, u32 at, u32 *target)
{
	const struct stream_graph *graph = self->query->graph;
	u64 edge;

	if (unlikely(node >= self->node_count))
		return successor_added(self, node, at, target);
	edge = graph->starts[node] + at;
	if (edge >= graph->starts[node + 1])
		return false;
	*target = edge_is_in(self->query->ignored, edge) ? UNSEEN : graph->edges[edge].target;
	return true;
}

/* ---- depth-first search ---- */

/* Asks for what will be looked up next: the search waits for memory most of the time. */
static void look_ahead(const struct search *self, u32 node)
{
	enum { EDGES = 4 };
	const struct stream_graph *graph = self->query->graph;
	u64 start = graph->starts[node], end = graph->starts[node + 1];

	for (u64 i = start; i < end && i < start + EDGES; i++) {
		__builtin_prefetch(&self->number[graph->edges[i].target]);
		__builtin_prefetch(&graph->starts[graph->edges[i].target]);
	}
}

static void see(struct search *self, u32 node, u32 parent)
{
	u32 vertex = self->seen++;

	self->number[node] = vertex;
	self->out->order[vertex] = node;
	self->at[vertex] = 0;
	if (node < self->node_count)
		look_ahead(self, node);
	self->vertices[vertex] = (struct vertex){parent, vertex, vertex, parent};
}

/* Whether an edge between vertices says anything. Those from what is lost to what is not do not:
 * nobody comes that way. */
static bool edge_leads(const struct search *self, u32 from, u32 to)
{
	return to != from && (from < self->lost || to >= self->lost);
}

static void count_pred(struct search *self, u32 to)
{
	struct pred *place = &self->pending[self->pending_next++ % PENDING], ready = *place;

	place->to = to;
	if (to != UNSEEN)
		__builtin_prefetch(&self->pred_starts[to], 1);
	if (ready.to != UNSEEN)
		self->pred_starts[ready.to]++;
}

/* All that the node leads to and was not seen; counts edges unless they will be gone once more. */
static void search_from(struct search *self, u32 node, bool counts)
{
	u32 first = self->seen, vertex = first, target;

	memset(self->pending, 0xff, sizeof self->pending);
	see(self, node, 0);
	for (;;) {
		if (successor(self, self->out->order[vertex], self->at[vertex]++, &target)) {
			u32 from = vertex;

			if (target == UNSEEN)
				continue;
			if (self->number[target] == UNSEEN) {
				vertex = self->seen;
				see(self, target, from);
			}
			if (counts && edge_leads(self, from, self->number[target]))
				count_pred(self, self->number[target]);
		} else if (vertex == first) {
			break;
		} else {
			vertex = self->vertices[vertex].ancestor;
		}
	}
	for (u32 i = 0; i < PENDING; i++)
		count_pred(self, UNSEEN);
}

static void forget_from(struct search *self, u32 first)
{
	while (self->seen > first)
		self->number[self->out->order[--self->seen]] = UNSEEN;
}

/* Where nothing outside leads to, there is a first node of the search that nothing else leads to
 * either, or only a ring of which it is the first. It starts a tree, and no tree that starts later
 * leads to it. */
static bool find_leaders(struct search *self)
{
	u32 first = self->seen;
	VEC(u32) starts = {0};
	bool good = true;

	/* all roots were seen */
	for (u64 i = 0; i < self->query->graph->chunk_count && good; i++) {
		u32 node = graph_node(self->query->graph, i);

		if (self->number[node] == UNSEEN) {
			good = vec_push(&starts, node);
			search_from(self, node, false);
		}
	}
	forget_from(self, first);
	for (u64 i = starts.count; i-- && good;)
		if (self->number[starts.data[i]] == UNSEEN) {
			good = vec_push(&self->leaders, starts.data[i]);
			search_from(self, starts.data[i], false);
		}
	forget_from(self, first);
	vec_release(&starts);
	return good;
}

/* What roots lead to is numbered first; then what is lost, as if its leaders were held by `lost`,
 * which `program` holds. */
static bool number_all(struct search *self)
{
	struct dominators *out = self->out;

	self->lost = UNSEEN;
	search_from(self, out->program, true);
	self->lost = self->seen;
	if (!find_leaders(self))
		return false;
	out->leader_count = self->leaders.count;
	search_from(self, out->lost, true);
	return true;
}

/* ---- predecessors ---- */

static void put_pred(struct search *self, struct pred pred)
{
	struct pred *place = &self->pending[self->pending_next++ % PENDING], ready = *place;

	*place = pred;
	if (pred.to != UNSEEN)
		__builtin_prefetch(&self->pred_starts[pred.to], 1);
	if (ready.to != UNSEEN)
		self->preds[--self->pred_starts[ready.to]] = ready.from;
}

static void put_preds(struct search *self, u32 from)
{
	u32 node = self->out->order[from], target;

	for (u32 at = 0; successor(self, node, at, &target); at++) {
		u32 to = target == UNSEEN ? from : self->number[target];

		if (edge_leads(self, from, to))
			put_pred(self, (struct pred){from, to});
	}
}

/* The search has counted them. */
static bool list_preds(struct search *self)
{
	u64 count = 0;

	for (u64 i = 0; i <= self->seen; i++)
		self->pred_starts[i] = count += self->pred_starts[i];
	self->preds = huge_alloc(count + 1, sizeof *self->preds);
	memset(self->pending, 0xff, sizeof self->pending);
	for (u32 from = 0; self->preds && from < self->seen; from++) {
		/* the vertex of `lost` is no node of the graph */
		if (from > self->lost || from + 16 < self->lost)
			graph_look_ahead(self->query->graph, self->out->order + from,
					 from > self->lost ? self->seen - from : self->lost - from,
					 self->number);
		put_preds(self, from);
	}
	for (u32 i = 0; self->preds && i < PENDING; i++)
		put_pred(self, (struct pred){UNSEEN, UNSEEN});
	return self->preds;
}

/* ---- dominators ---- */

/* The vertex with the smallest semidominator among v and those above it that are linked, which are
 * those after `last`. Ways that were gone once are shortened. */
static u32 evaluate(struct search *self, u32 v, u32 last)
{
	struct vertex *vertices = self->vertices;
	u32 *stack = self->at, depth = 0, below;

	for (; vertices[v].ancestor > last; v = vertices[v].ancestor)
		stack[depth++] = v;
	for (; depth; v = below) {
		below = stack[--depth];
		vertices[below].ancestor = vertices[v].ancestor;
		if (vertices[vertices[v].label].semi < vertices[vertices[below].label].semi)
			vertices[below].label = vertices[v].label;
	}
	return vertices[v].label;
}

static void find_holders(struct search *self)
{
	enum { AHEAD = 24 };
	struct vertex *vertices = self->vertices;

	for (u32 w = self->seen - 1; w > 0; w--) {
		u32 semi = vertices[w].holder;

		for (u64 i = self->pred_starts[w]; i < self->pred_starts[w + 1]; i++) {
			__builtin_prefetch(&vertices[self->preds[i < AHEAD ? 0 : i - AHEAD]]);
			u32 found = vertices[evaluate(self, self->preds[i], w)].semi;

			semi = found < semi ? found : semi;
		}
		vertices[w].semi = semi;
	}
	for (u32 w = 1; w < self->seen; w++)
		while (vertices[w].holder > vertices[w].semi)
			vertices[w].holder = vertices[vertices[w].holder].holder;
}

/* ---- all ---- */

static void sum_retained(struct search *self)
{
	struct dominators *out = self->out;
	u32 chunks = (u32)self->query->graph->chunk_count;

	memset(out->retained, 0, out->node_count * sizeof *out->retained);
	for (u32 i = 0; i < chunks; i++)
		out->retained[i] = self->query->bytes(self->query->self, i);
	for (u32 i = self->seen; i-- > 1;) {
		u32 node = out->order[i];

		out->holder[node] = out->order[self->vertices[i].holder];
		out->retained[out->holder[node]] += out->retained[node];
	}
	out->holder[out->program] = out->program;
}

static bool make_room(struct search *self)
{
	struct dominators *out = self->out;
	u64 nodes = out->node_count;

	out->holder = huge_alloc(nodes, sizeof *out->holder);
	out->order = huge_alloc(nodes, sizeof *out->order);
	out->retained = huge_zeroed(nodes + 1, sizeof *out->retained);
	self->at = huge_alloc(nodes, sizeof *self->at);
	self->vertices = huge_alloc(nodes, sizeof *self->vertices);
	self->number = huge_alloc(nodes, sizeof *self->number);
	/* retained bytes are found last: until then predecessors have their place */
	self->pred_starts = out->retained;
	if (!out->holder || !out->order || !out->retained || !self->at || !self->vertices ||
	    !self->number)
		return false;
	memset(self->number, 0xff, nodes * sizeof *self->number);
	return true;
}

void dominators_number(struct dominators *self, const struct stream_graph *graph)
{
	u32 nodes = (u32)graph_nodes(graph);

	*self = (struct dominators){.node_count = (u64)nodes + 2,
				    .lost = nodes,
				    .program = nodes + 1};
}

int dominators_find(struct dominators *self, const struct dominators_query *query, struct err *err)
{
	struct search search = {.query = query, .out = self};
	bool good;

	dominators_number(self, query->graph);
	search.node_count = self->lost;
	good = make_room(&search) && number_all(&search) && list_preds(&search);
	if (good) {
		find_holders(&search);
		sum_retained(&search);
	}
	free(search.at);
	free(search.vertices);
	free(search.number);
	free(search.preds);
	vec_release(&search.leaders);
	if (good)
		return 0;
	dominators_release(self);
	return err_memory_for(err, "the owners");
}

void dominators_release(struct dominators *self)
{
	free(self->holder);
	free(self->order);
	free(self->retained);
	*self = (struct dominators){0};
}
