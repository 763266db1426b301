/* SPDX-License-Identifier: MIT
 * Builds the call graph from the tree of calls.
 * Host. A walk over the tree adds what was allocated below each call; what a function or an edge
 * has on the way from the root already is not added again. Costs as much as there are calls in
 * the tree, however deep it is: no recursion. */
#include "study/analysis/mprof/edges.h"

#include "host/base/keyed.h"

#define NO_EDGE UINT32_MAX

/* What the walk keeps for each call of the tree, function and edge. */
struct tour {
	struct mprof_edges *graph;
	const struct mprof_calls *calls;
	struct mprof_sum *below; /* by call: allocated by it and inside it */
	u32 *child, *sibling; /* by call: first callee, next callee of the same caller; 0 = none */
	u32 *edge;            /* by call: from its caller's function, NO_EDGE = none */
	u32 *on_path, *asked, *asks, *recurs; /* by function: on the way from the root how often it
					       * is there, was called by another, calls another,
					       * calls itself */
	VEC(u32) edge_on_path;
	struct arena arena;
};

static u32 function_of(const struct tour *self, u32 call)
{
	return self->calls->calls.data[call].function.index;
}

/* The edge between two nodes, made if needed; NULL if there is no memory. */
static struct mprof_edge *edge_at(struct mprof_edges *self, u32 caller, u32 callee)
{
	return vec_at_key(&self->edges, &self->by_ends, (u64)caller << 32 | callee,
			  (struct mprof_edge){.caller = caller, .callee = callee});
}

bool mprof_edges_by(const struct mprof_edges *self, u64 nodes, bool by_caller, struct arena *arena,
		    struct mprof_ends *ends)
{
	const struct mprof_edge *edges = self->edges.data;
	u32 *first = ends->first = arena_new_array(arena, u32, nodes + 2);

	ends->list = arena_new_array(arena, u32, self->edges.count + 1);
	if (!first || !ends->list)
		return false;
	for (u64 i = 0; i < self->edges.count; i++)
		first[(by_caller ? edges[i].caller : edges[i].callee) + 2]++;
	for (u64 i = 0; i < nodes; i++)
		first[i + 1] += first[i];
	for (u32 i = 0; i < self->edges.count; i++)
		ends->list[first[(by_caller ? edges[i].caller : edges[i].callee) + 1]++] = i;
	return true;
}

static bool tour_init(struct tour *self)
{
	u64 calls = self->calls->calls.count + 1, functions = self->calls->functions.count + 1;

	self->below = arena_new_array(&self->arena, struct mprof_sum, calls);
	self->child = arena_new_array(&self->arena, u32, calls);
	self->sibling = arena_new_array(&self->arena, u32, calls);
	self->edge = arena_new_array(&self->arena, u32, calls);
	self->on_path = arena_new_array(&self->arena, u32, functions);
	self->asked = arena_new_array(&self->arena, u32, functions);
	self->asks = arena_new_array(&self->arena, u32, functions);
	self->recurs = arena_new_array(&self->arena, u32, functions);
	return self->below && self->child && self->sibling && self->edge && self->on_path &&
	       self->asked && self->asks && self->recurs &&
	       vec_extend(&self->graph->nodes, functions - 1);
}

/* Sums from the leaves to the root, and lists of callees in their order. Callers have smaller
 * numbers. */
static void tour_prepare(struct tour *self)
{
	for (u64 i = 0; i < self->calls->points.count; i++) {
		const struct mprof_point *point = &self->calls->points.data[i];

		mprof_sum_add(&self->below[point->call], &point->all);
		mprof_sum_add(&self->graph->nodes.data[function_of(self, point->call)].self,
			      &point->all);
	}
	for (u32 call = (u32)self->calls->calls.count; call-- > 1;) {
		u32 caller = self->calls->calls.data[call].caller;

		if (!self->below[call].calls)
			continue;
		mprof_sum_add(&self->below[caller], &self->below[call]);
		self->sibling[call] = self->child[caller];
		self->child[caller] = call;
	}
}

static bool enter_edge(struct tour *self, u32 call, u32 from, u32 to)
{
	const struct mprof_sum *below = &self->below[call];
	struct mprof_node *nodes = self->graph->nodes.data;
	struct mprof_edge *edge = edge_at(self->graph, from, to);
	u32 index;

	if (!edge || !vec_extend(&self->edge_on_path, self->graph->edges.count))
		return false;
	index = self->edge[call] = (u32)(edge - self->graph->edges.data);
	edge->calls += below->calls;
	nodes[to].called += below->calls;
	nodes[from].made += below->calls;
	if (self->edge_on_path.data[index]++ == 0)
		mprof_sum_add(&edge->sum, below);
	if (self->asked[to]++ == 0)
		mprof_sum_add(&nodes[to].above, below);
	if (self->asks[from]++ == 0)
		mprof_sum_add(&nodes[from].below, below);
	return true;
}

static bool enter(struct tour *self, u32 call)
{
	u32 caller = self->calls->calls.data[call].caller, function = function_of(self, call);
	struct mprof_node *node = &self->graph->nodes.data[function];

	self->edge[call] = NO_EDGE;
	if (self->on_path[function]++ == 0)
		mprof_sum_add(&node->total, &self->below[call]);
	if (caller && function_of(self, caller) == function) {
		node->recur += self->below[call].calls;
		if (self->recurs[function]++ == 0)
			mprof_sum_add(&node->again, &self->below[call]);
	} else if (caller) {
		return enter_edge(self, call, function_of(self, caller), function);
	}
	return true;
}

static void leave(struct tour *self, u32 call)
{
	u32 caller = self->calls->calls.data[call].caller, function = function_of(self, call);

	self->on_path[function]--;
	if (self->edge[call] != NO_EDGE) {
		self->edge_on_path.data[self->edge[call]]--;
		self->asked[function]--;
		self->asks[function_of(self, caller)]--;
	} else if (caller) {
		self->recurs[function]--;
	}
}

static int tour_walk(struct tour *self)
{
	u32 call = self->child[0];

	while (call) {
		if (!enter(self, call))
			return ERR_MEMORY;
		if (self->child[call]) {
			call = self->child[call];
			continue;
		}
		leave(self, call);
		while (!self->sibling[call] && self->calls->calls.data[call].caller) {
			call = self->calls->calls.data[call].caller;
			leave(self, call);
		}
		call = self->sibling[call];
	}
	return 0;
}

/* ---- cycles ---- */

/* Gives each component of several functions a node. */
static int add_cycles(struct mprof_edges *self, const u32 *group, u32 groups, struct arena *arena)
{
	u32 *members = arena_new_array(arena, u32, (u64)groups + 1);
	u32 *node_of = arena_new_array(arena, u32, (u64)groups + 1);

	if (!members || !node_of)
		return ERR_MEMORY;
	for (u32 i = 0; i < self->functions; i++)
		members[group[i]]++;
	for (u32 i = 0; i < self->functions; i++) {
		struct mprof_node cycle = {.cycle = NO_CYCLE, .first = i};

		if (members[group[i]] < 2)
			continue;
		if (!node_of[group[i]]) {
			if (!vec_push(&self->nodes, cycle))
				return ERR_MEMORY;
			node_of[group[i]] = (u32)self->nodes.count - 1;
		}
		self->nodes.data[i].cycle = node_of[group[i]];
		mprof_sum_add(&self->nodes.data[node_of[group[i]]].self, &self->nodes.data[i].self);
	}
	return 0;
}

static bool add_cycle_edge(struct mprof_edges *self, u32 caller, u32 callee,
			   const struct mprof_sum *sum)
{
	struct mprof_edge *edge = edge_at(self, caller, callee);

	if (!edge)
		return false;
	mprof_sum_add(&edge->sum, sum);
	edge->calls += sum->calls;
	return true;
}

/* A stack enters a cycle and leaves it at most once, or the functions in between would be of the
 * cycle: what goes over its borders may be added without asking what is on the way. */
static bool cross_border(struct tour *self, u32 call)
{
	struct mprof_node *nodes = self->graph->nodes.data;
	const struct mprof_sum *below = &self->below[call];
	u32 caller = self->calls->calls.data[call].caller, to = function_of(self, call);
	u32 from = caller ? function_of(self, caller) : NO_CYCLE;
	u32 inner = nodes[to].cycle, outer = caller ? nodes[from].cycle : NO_CYCLE;

	if (inner != NO_CYCLE && inner == outer) {
		nodes[inner].recur += below->calls;
		return true;
	}
	if (inner != NO_CYCLE)
		mprof_sum_add(&nodes[inner].total, below);
	if (inner != NO_CYCLE && caller) {
		nodes[inner].called += below->calls;
		mprof_sum_add(&nodes[inner].above, below);
		if (!add_cycle_edge(self->graph, from, inner, below))
			return false;
	}
	if (outer == NO_CYCLE)
		return true;
	nodes[outer].made += below->calls;
	mprof_sum_add(&nodes[outer].below, below);
	return add_cycle_edge(self->graph, outer, to, below);
}

static int merge(struct tour *self)
{
	struct mprof_edges *graph = self->graph;
	u32 *group = arena_new_array(&self->arena, u32, (u64)graph->functions + 1), groups = 0;
	int status = group ? mprof_components(graph, group, &groups) : ERR_MEMORY;

	if (status == 0)
		status = add_cycles(graph, group, groups, &self->arena);
	for (u32 call = 1; call < self->calls->calls.count && status == 0; call++)
		if (self->below[call].calls && !cross_border(self, call))
			status = ERR_MEMORY;
	return status;
}

int mprof_edges_read(struct mprof_edges *self, const struct mprof_calls *calls, bool merge_cycles)
{
	struct tour tour = {.graph = self, .calls = calls};
	int status = tour_init(&tour) ? 0 : ERR_MEMORY;

	self->functions = (u32)calls->functions.count;
	for (u32 i = 0; i < self->functions && status == 0; i++) {
		self->nodes.data[i].cycle = NO_CYCLE;
		self->nodes.data[i].first = i;
	}
	if (status == 0) {
		tour_prepare(&tour);
		status = tour_walk(&tour);
	}
	if (status == 0 && merge_cycles)
		status = merge(&tour);
	vec_release(&tour.edge_on_path);
	arena_release(&tour.arena);
	return status;
}

void mprof_edges_release(struct mprof_edges *self)
{
	vec_release(&self->nodes);
	vec_release(&self->edges);
	map_release(&self->by_ends);
}
