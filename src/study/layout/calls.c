/* SPDX-License-Identifier: MIT
 * Neighbourhoods in the call graph.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/calls.h"

#include <string.h>

#include "host/base/options.h"

double calls_self(const struct callgraph_node *node, enum calls_metric metric)
{
	return (double)(metric == CALLS_BYTES ? node->bytes : node->allocations);
}

double calls_total(const struct callgraph_node *node, enum calls_metric metric)
{
	return (double)(metric == CALLS_BYTES ? node->below_bytes : node->below_allocations);
}

i64 calls_find(const struct callgraph *graph, const char *text)
{
	i64 best = -1;
	u64 number;

	if (parse_number(text, &number) && number < graph->nodes.count)
		return (i64)number;
	for (u64 i = 0; i < graph->nodes.count; i++)
		if (strcmp(graph->nodes.data[i].name, text) == 0 &&
		    (best < 0 || graph->nodes.data[i].below_allocations >
					 graph->nodes.data[best].below_allocations))
			best = (i64)i;
	return best;
}

static u32 heaviest_self(const struct callgraph *graph, enum calls_metric metric)
{
	u32 best = 0;

	for (u32 i = 1; i < graph->nodes.count; i++)
		if (calls_self(&graph->nodes.data[i], metric) >
		    calls_self(&graph->nodes.data[best], metric))
			best = i;
	return best;
}

/* Marks what can be reached from the centre in so many calls, one way. */
static void spread(const struct callgraph *graph, u8 *near, u32 center, u32 steps, bool up)
{
	u8 bit = up ? 1 : 2;

	near[center] |= bit;
	for (u32 step = 0; step < steps; step++) {
		bool changed = false;
		u8 next = (u8)(bit << 2);

		for (u64 i = 0; i < graph->edges.count; i++) {
			const struct callgraph_edge *edge = &graph->edges.data[i];
			u32 from = up ? edge->callee : edge->caller;
			u32 to = up ? edge->caller : edge->callee;

			if ((near[from] & bit) && !(near[to] & bit))
				near[to] |= next;
		}
		for (u64 i = 0; i < graph->nodes.count; i++)
			if (near[i] & next) {
				near[i] = (u8)((near[i] & ~next) | bit);
				changed = true;
			}
		if (!changed)
			return;
	}
}

static int heaviest_first(const void *a, const void *b)
{
	const struct calls_node *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int take_nodes(struct calls_view *self, const struct calls_query *query, u8 *near)
{
	for (u32 i = 0; i < self->graph->nodes.count; i++) {
		const struct callgraph_node *node = &self->graph->nodes.data[i];
		double total = calls_total(node, query->metric);

		if (!near[i] || (i != self->center && total < query->min * self->whole))
			continue;
		if (!vec_push(&self->nodes,
			      (struct calls_node){.node = i,
						  .self = calls_self(node, query->metric),
						  .total = total}))
			return ERR_MEMORY;
	}
	self->found = self->nodes.count;
	if (self->nodes.count)
		qsort(self->nodes.data, self->nodes.count, sizeof *self->nodes.data,
		      heaviest_first);
	if (self->nodes.count <= CALLS_NODES_MAX)
		return 0;
	/* The centre stays, whatever it weighs. */
	for (u64 i = CALLS_NODES_MAX; i < self->nodes.count; i++)
		if (self->nodes.data[i].node == self->center)
			self->nodes.data[CALLS_NODES_MAX - 1] = self->nodes.data[i];
	self->nodes.count = CALLS_NODES_MAX;
	return 0;
}

static int take_edges(struct calls_view *self)
{
	u32 *place = calloc(self->graph->nodes.count + 1, sizeof *place);
	int status = place ? 0 : ERR_MEMORY;

	for (u32 i = 0; i < self->nodes.count && status == 0; i++)
		place[self->nodes.data[i].node] = i + 1;
	for (u32 i = 0; i < self->graph->edges.count && status == 0; i++) {
		const struct callgraph_edge *edge = &self->graph->edges.data[i];
		u32 from = place[edge->caller], to = place[edge->callee];

		if (from && to && !vec_push(&self->edges, i))
			status = ERR_MEMORY;
		else if (from && !to)
			self->nodes.data[from - 1].hidden_out++;
		else if (to && !from)
			self->nodes.data[to - 1].hidden_in++;
	}
	free(place);
	return status;
}

/* Points by the function that allocates there, as the numbers of nodes are. */
static int take_severities(struct calls_view *self, struct study *trace,
			   const struct mprof_calls *calls)
{
	struct map worst = {0};
	int status = 0;

	for (u64 i = 0; i < calls->points.count && status == 0; i++) {
		const struct mprof_call *call = &calls->calls.data[calls->points.data[i].call];
		const char *name = mprof_function(calls, call->function)->name;
		u64 *known = map_at(&worst, hash_text(HASH_START, name));

		if (!known)
			status = ERR_MEMORY;
		else if (trace->severity[i] > *known)
			*known = trace->severity[i];
	}
	for (u64 i = 0; i < self->nodes.count && status == 0; i++) {
		struct calls_node *node = &self->nodes.data[i];
		const struct callgraph_node *of = &self->graph->nodes.data[node->node];
		const u64 *known = map_find(&worst, hash_text(HASH_START, of->name));

		node->severity = known && node->self > 0 ? (u8)*known : 0;
	}
	map_release(&worst);
	return status;
}

static int take_cycles(struct calls_view *self)
{
	u32 *cycles = callgraph_cycles(self->graph);

	for (u64 i = 0; i < self->nodes.count && cycles; i++)
		self->nodes.data[i].cycle = cycles[self->nodes.data[i].node];
	free(cycles);
	return cycles ? 0 : ERR_MEMORY;
}

int calls_view_make(struct calls_view *self, struct study *trace, const struct calls_query *query,
		    struct err *err)
{
	const struct mprof_calls *calls;
	u8 *near;
	int status;

	self->graph = study_callgraph(trace, err);
	calls = self->graph ? study_calls(trace, err) : NULL;
	if (!calls || study_scores(trace, err) < 0)
		return err->code;
	if (!self->graph->nodes.count)
		return 0;
	self->whole = query->metric == CALLS_BYTES
			      ? (double)trace->model->totals.bytes
			      : (double)model_count(trace->model, trace->model->totals.allocations);
	self->center =
		query->center >= 0 ? (u32)query->center : heaviest_self(self->graph, query->metric);
	near = calloc(self->graph->nodes.count + 1, 1);
	if (!near)
		return err_memory_for(err, "the call graph");
	spread(self->graph, near, self->center, query->up, true);
	spread(self->graph, near, self->center, query->down, false);
	status = take_nodes(self, query, near);
	free(near);
	if (status == 0)
		status = take_edges(self);
	if (status == 0)
		status = take_severities(self, trace, calls);
	if (status == 0)
		status = take_cycles(self);
	return status == 0 ? 0 : err_set(err, status, "out of memory for the call graph");
}

void calls_view_release(struct calls_view *self)
{
	vec_release(&self->nodes);
	vec_release(&self->edges);
}
