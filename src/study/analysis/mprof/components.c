/* SPDX-License-Identifier: MIT
 * Strongly connected components of the call graph, by Tarjan's algorithm.
 * Host. Without recursion: a graph may have a path through all of its functions. */
#include "study/analysis/mprof/edges.h"

struct search {
	const struct mprof_edges *graph;
	u32 *first;        /* by function: first of its callees in `callees`; one more at the end */
	u32 *callees;      /* functions, grouped by caller */
	u32 *next;         /* by function: callee to look at next */
	u32 *number, *low; /* by function: when it was met (from 1 on), earliest reachable */
	u32 *stack, *path; /* functions without component; functions being looked at */
	u32 stacked, depth, met;
	u32 *group, groups;
};

static bool search_init(struct search *self)
{
	u64 functions = (u64)self->graph->functions + 2, edges = self->graph->edges.count + 1;

	self->first = calloc(functions, sizeof *self->first);
	self->callees = calloc(edges, sizeof *self->callees);
	self->next = calloc(functions, sizeof *self->next);
	self->number = calloc(functions, sizeof *self->number);
	self->low = calloc(functions, sizeof *self->low);
	self->stack = calloc(functions, sizeof *self->stack);
	self->path = calloc(functions, sizeof *self->path);
	return self->first && self->callees && self->next && self->number && self->low &&
	       self->stack && self->path;
}

static void search_release(struct search *self)
{
	free(self->first);
	free(self->callees);
	free(self->next);
	free(self->number);
	free(self->low);
	free(self->stack);
	free(self->path);
}

static void list_callees(struct search *self)
{
	const struct mprof_edges *graph = self->graph;

	for (u64 i = 0; i < graph->edges.count; i++)
		self->first[graph->edges.data[i].caller + 1]++;
	for (u32 i = 0; i < graph->functions; i++) {
		self->first[i + 1] += self->first[i];
		self->next[i] = self->first[i];
	}
	for (u64 i = 0; i < graph->edges.count; i++)
		self->callees[self->next[graph->edges.data[i].caller]++] =
			graph->edges.data[i].callee;
	for (u32 i = 0; i < graph->functions; i++)
		self->next[i] = self->first[i];
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
	meet(self, start);
	while (self->depth) {
		u32 function = self->path[self->depth - 1], callee;

		if (self->next[function] == self->first[function + 1]) {
			finish(self);
			continue;
		}
		callee = self->callees[self->next[function]++];
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

	if (status == 0)
		list_callees(&self);
	for (u32 i = 0; i < graph->functions && status == 0; i++)
		if (!self.number[i])
			explore(&self, i);
	*count = self.groups;
	search_release(&self);
	return status;
}
