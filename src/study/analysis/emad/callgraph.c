/* SPDX-License-Identifier: MIT
 * The two makers of a call graph with names.
 * Host. */
#include "study/analysis/emad/callgraph.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/path.h"
#include "study/analysis/mprof/edges.h"
#include "host/base/strbuf.h"

static int compare_edges(const void *a, const void *b)
{
	const struct callgraph_edge *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void sort_edges(struct callgraph *self)
{
	if (self->edges.count)
		qsort(self->edges.data, self->edges.count, sizeof(*self->edges.data),
		      compare_edges);
}

/* ---- from routines ---- */

/* The routine itself, not what was inlined at its first instruction: that is the outermost
 * frame. */
static const char *symbol_name(const struct symbol_table *symbols, u32 image,
			       const struct routine_node *node)
{
	const struct symbol_entry *entry =
		symbols ? symbol_table_find(symbols, image, node->module, node->address) : NULL;

	return entry && entry->frame_count ? entry->frames[entry->frame_count - 1].function : "";
}

static const char *place_name(struct callgraph *self, const char *path, u64 address)
{
	const char *copy = NULL;
	struct strbuf text = {0};

	if (*path)
		strbuf_addf(&text, "%s+0x%" PRIx64, path_file(path), address);
	else
		strbuf_addf(&text, "0x%" PRIx64, address);
	if (!text.failed)
		copy = arena_copy(&self->arena, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

static int add_routine(struct callgraph *self, const struct routine_graph *graph,
		       const struct routine_node *node, const struct symbol_table *symbols)
{
	const struct modmap_module *module = modmap_module(&graph->modules, node->module);
	const char *path = !module ? "" : *module->path ? module->path : graph->program;
	const char *name = symbol_name(symbols, graph->image, node);
	struct callgraph_node fresh = {
		.name = *name ? arena_copy(&self->arena, name)
			      : place_name(self, path, node->address),
		.module = arena_copy(&self->arena, path),
		.address = node->address,
		.calls = node->calls,
		.inclusive_ns = tick_clock_span_ns(&graph->clock, (double)node->inclusive_ticks),
		.exclusive_ns = tick_clock_span_ns(&graph->clock, (double)node->exclusive_ticks),
		.allocations = node->allocations,
		.bytes = node->bytes,
		.below_allocations = node->below_allocations,
		.below_bytes = node->below_bytes,
	};

	return fresh.name && fresh.module && vec_push(&self->nodes, fresh) ? 0 : ERR_MEMORY;
}

int callgraph_of_routines(struct callgraph *self, const struct routine_graph *graph,
			  const struct symbol_table *symbols, struct err *err)
{
	self->counts = graph->counts;
	self->unknown_clock = !tick_clock_known(&graph->clock);
	for (u64 i = 0; i < graph->nodes.count; i++)
		if (add_routine(self, graph, &graph->nodes.data[i], symbols) < 0)
			return err_memory_for(err, "the call graph");
	for (u64 i = 0; i < graph->edges.count; i++) {
		const struct routine_edge *edge = &graph->edges.data[i];
		struct callgraph_edge fresh = {edge->caller.index, edge->callee.index, edge->calls,
					       0};

		if (!vec_push(&self->edges, fresh))
			return err_memory_for(err, "the call graph");
	}
	sort_edges(self);
	return 0;
}

/* ---- from stacks ---- */

/* While it is made: what has been counted of the stack at hand, which may pass a function, or a
 * call of one by another, more than once. */
struct summing {
	struct callgraph *graph;
	const struct mprof_calls *calls;
	struct map by_edge;   /* caller, callee → edge + 1 */
	VEC(u64) edge_points; /* by edge: last point that it was counted for, + 1 */
	u64 *node_points;     /* the same by node */
};

static int sum_edge(struct summing *self, u32 caller, u32 callee, u64 point, u64 count, u64 bytes)
{
	struct callgraph_edge fresh = {caller, callee, 0, 0};
	u64 *found = map_at(&self->by_edge, (u64)caller << 32 | callee);

	if (!found)
		return ERR_MEMORY;
	if (*found == 0) {
		if (!vec_push(&self->graph->edges, fresh) || !vec_push(&self->edge_points, 0))
			return ERR_MEMORY;
		*found = self->graph->edges.count;
	}
	if (self->edge_points.data[*found - 1] == point + 1)
		return 0;
	self->edge_points.data[*found - 1] = point + 1;
	self->graph->edges.data[*found - 1].calls += count;
	self->graph->edges.data[*found - 1].bytes += bytes;
	return 0;
}

static void sum_node(struct summing *self, u32 function, u64 point, u64 count, u64 bytes)
{
	struct callgraph_node *node = &self->graph->nodes.data[function];

	if (self->node_points[function] == point + 1)
		return;
	self->node_points[function] = point + 1;
	node->below_allocations += count;
	node->below_bytes += bytes;
}

/* Call 0 is no function: it calls main. */
static int sum_point(struct summing *self, u64 number)
{
	const struct mprof_point *point = &self->calls->points.data[number];
	const struct mprof_call *calls = self->calls->calls.data;
	u64 count = model_count(self->calls->source->model, point->all.calls);
	u64 bytes = point->all.bytes;
	int status = 0;

	if (point->call) {
		struct callgraph_node *own =
			&self->graph->nodes.data[calls[point->call].function.index];

		own->allocations += count;
		own->bytes += bytes;
	}
	for (u32 at = point->call; at && status == 0; at = calls[at].caller) {
		u32 caller = calls[at].caller;

		sum_node(self, calls[at].function.index, number, count, bytes);
		if (caller)
			status = sum_edge(self, calls[caller].function.index,
					  calls[at].function.index, number, count, bytes);
	}
	return status;
}

static int add_function(struct callgraph *self, const struct mprof_function *function)
{
	struct callgraph_node fresh = {.name = arena_copy(&self->arena, function->name),
				       .module = ""};

	return fresh.name && vec_push(&self->nodes, fresh) ? 0 : ERR_MEMORY;
}

/* Functions of which no stack is made (what runs before main) are left out. */
static int drop_idle(struct callgraph *self)
{
	u32 *numbers = calloc(self->nodes.count + 1, sizeof(*numbers));
	u64 kept = 0;

	if (!numbers)
		return ERR_MEMORY;
	for (u64 i = 0; i < self->nodes.count; i++) {
		numbers[i] = (u32)kept;
		if (self->nodes.data[i].below_allocations)
			self->nodes.data[kept++] = self->nodes.data[i];
	}
	self->nodes.count = kept;
	kept = 0;
	for (u64 i = 0; i < self->edges.count; i++) {
		struct callgraph_edge edge = self->edges.data[i];

		edge.caller = numbers[edge.caller];
		edge.callee = numbers[edge.callee];
		if (edge.calls)
			self->edges.data[kept++] = edge;
	}
	self->edges.count = kept;
	free(numbers);
	return 0;
}

int callgraph_of_stacks(struct callgraph *self, const struct mprof_calls *calls, struct err *err)
{
	struct summing summing = {.graph = self, .calls = calls};
	int status = 0;

	self->from_stacks = true;
	summing.node_points = calloc(calls->functions.count + 1, sizeof(u64));
	if (!summing.node_points)
		status = ERR_MEMORY;
	for (u64 i = 0; i < calls->functions.count && status == 0; i++)
		status = add_function(self, &calls->functions.data[i]);
	for (u64 i = 0; i < calls->points.count && status == 0; i++)
		status = sum_point(&summing, i);
	if (status == 0)
		status = drop_idle(self);
	sort_edges(self);
	free(summing.node_points);
	vec_release(&summing.edge_points);
	map_release(&summing.by_edge);
	return status < 0 ? err_memory_for(err, "the call graph") : 0;
}

/* Components of one function are cycles only if it calls itself. */
static void number_cycles(const struct callgraph *self, u32 *group, u32 groups, u32 *members)
{
	u32 cycles = 0;

	for (u64 i = 0; i < self->nodes.count; i++)
		members[group[i]]++;
	for (u64 i = 0; i < self->edges.count; i++)
		if (self->edges.data[i].caller == self->edges.data[i].callee)
			members[group[self->edges.data[i].caller]] = UINT32_MAX;
	for (u32 i = 0; i < groups; i++)
		members[i] = members[i] > 1 ? ++cycles : 0;
	for (u64 i = 0; i < self->nodes.count; i++)
		group[i] = members[group[i]];
}

u32 *callgraph_cycles(const struct callgraph *self)
{
	struct mprof_edges graph = {.functions = (u32)self->nodes.count};
	u32 *group = calloc(self->nodes.count + 1, sizeof *group), *members = NULL, groups = 0;
	bool good = group && vec_reserve(&graph.edges, self->edges.count + 1);

	for (u64 i = 0; i < self->edges.count && good; i++)
		graph.edges.data[graph.edges.count++] =
			(struct mprof_edge){.caller = self->edges.data[i].caller,
					    .callee = self->edges.data[i].callee};
	good = good && mprof_components(&graph, group, &groups) == 0;
	if (good)
		members = calloc(groups + 1, sizeof *members);
	if (members) {
		number_cycles(self, group, groups, members);
	} else {
		free(group);
		group = NULL;
	}
	free(members);
	vec_release(&graph.edges);
	return group;
}

void callgraph_release(struct callgraph *self)
{
	vec_release(&self->nodes);
	vec_release(&self->edges);
	arena_release(&self->arena);
	memset(self, 0, sizeof(*self));
}
