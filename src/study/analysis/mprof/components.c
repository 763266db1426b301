/* SPDX-License-Identifier: MIT
 * Strongly connected components of the call graph, by Tarjan's algorithm.
 * Host. Without recursion: a graph may have a path through all of its functions. */
#include "study/analysis/mprof/edges.h"

#include <string.h>

struct search {
	const struct mprof_edges *graph;
	struct mprof_ends callees; /* by caller */
	u32 *next;                 /* by function: callee to look at next */
	u32 *number, *low; /* by function: when it was met (from 1 on), earliest reachable */
	u32 *stack, *path; /* functions without component; functions being looked at */
	u32 stacked, depth, met;
	u32 *group, groups;
	struct arena arena;
};

static bool search_init(struct search *self)
{
	u64 functions = (u64)self->graph->functions + 1;

	self->next = arena_new_array(&self->arena, u32, functions);
	self->number = arena_new_array(&self->arena, u32, functions);
	self->low = arena_new_array(&self->arena, u32, functions);
	self->stack = arena_new_array(&self->arena, u32, functions);
	self->path = arena_new_array(&self->arena, u32, functions);
	if (!self->next || !self->number || !self->low || !self->stack || !self->path ||
	    !mprof_edges_by(self->graph, self->graph->functions, true, &self->arena,
			    &self->callees))
		return false;
	memcpy(self->next, self->callees.first, functions * sizeof *self->next);
	return true;
}

static void meet(struct search *self, u32 function)
{
	self->number[function] = self->low[function] = ++self->met;
	self->stack[self->stacked++] = function;
	self->path[self->depth++] = function;
	self->group[function] = UINT32_MAX;
}

static void lower(struct search *self, u32 function, u32 to)
{
	if (to < self->low[function])
		self->low[function] = to;
}

/* All callees of the innermost function were looked at. */
static void finish(struct search *self)
{
	u32 function = self->path[--self->depth], member;

	if (self->depth)
		lower(self, self->path[self->depth - 1], self->low[function]);
	if (self->low[function] != self->number[function])
		return;
	do {
		member = self->stack[--self->stacked];
		self->group[member] = self->groups;
	} while (member != function);
	self->groups++;
}

static void explore(struct search *self, u32 start)
{
	const struct mprof_edge *edges = self->graph->edges.data;

	meet(self, start);
	while (self->depth) {
		u32 function = self->path[self->depth - 1], callee;

		if (self->next[function] == self->callees.first[function + 1]) {
			finish(self);
			continue;
		}
		callee = edges[self->callees.list[self->next[function]++]].callee;
		if (!self->number[callee])
			meet(self, callee);
		else if (self->group[callee] == UINT32_MAX)
			lower(self, function, self->number[callee]);
	}
}

int mprof_components(const struct mprof_edges *graph, u32 *group, u32 *count)
{
	struct search self = {.graph = graph, .group = group};
	int status = search_init(&self) ? 0 : ERR_MEMORY;

	for (u32 i = 0; i < graph->functions && status == 0; i++)
		if (!self.number[i])
			explore(&self, i);
	*count = self.groups;
	arena_release(&self.arena);
	return status;
}
