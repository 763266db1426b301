/* SPDX-License-Identifier: MIT
 * The two makers of a call graph with names.
 * Host. */
#include "study/analysis/emad/callgraph.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/path.h"
#include "study/analysis/mprof/edges.h"

static int compare_edges(const void *a, const void *b)
{
	const struct callgraph_edge *x = a, *y = b;

	return falling(x->calls, y->calls) ?: rising(x->caller, y->caller)
		       ?: rising(x->callee, y->callee);
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
	return *path ? arena_format(&self->arena, "%s+0x%" PRIx64, path_file(path), address)
		     : arena_format(&self->arena, "0x%" PRIx64, address);
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
	vec_sort(&self->edges, compare_edges);
	return 0;
}

/* ---- from stacks ---- */

/* Units of the model become numbers point by point. */
static struct mprof_point *count_points(const struct mprof_calls *calls, struct arena *arena)
{
	struct mprof_point *points =
		arena_new_array(arena, struct mprof_point, calls->points.count);

	for (u64 i = 0; i < calls->points.count && points; i++) {
		points[i] = calls->points.data[i];
		points[i].all.calls = model_count(calls->source->model, points[i].all.calls);
	}
	return points;
}

static bool add_edge(struct callgraph *self, u32 caller, u32 callee, const struct mprof_sum *sum)
{
	struct callgraph_edge fresh = {caller, callee, sum->calls, sum->bytes};

	return !sum->calls || vec_push(&self->edges, fresh);
}

/* Functions of which no stack is made (what runs before main) are left out. */
static int add_functions(struct callgraph *self, const struct mprof_calls *calls,
			 const struct mprof_edges *graph, u32 *numbers)
{
	for (u32 i = 0; i < graph->functions; i++) {
		const struct mprof_node *node = &graph->nodes.data[i];
		u32 number = numbers[i] = (u32)self->nodes.count;
		struct callgraph_node fresh = {.name = arena_copy(&self->arena,
								  calls->functions.data[i].name),
					       .module = "",
					       .allocations = node->self.calls,
					       .bytes = node->self.bytes,
					       .below_allocations = node->total.calls,
					       .below_bytes = node->total.bytes};

		if (node->total.calls && (!fresh.name || !vec_push(&self->nodes, fresh) ||
					  !add_edge(self, number, number, &node->again)))
			return ERR_MEMORY;
	}
	for (u64 i = 0; i < graph->edges.count; i++) {
		const struct mprof_edge *edge = &graph->edges.data[i];

		if (!add_edge(self, numbers[edge->caller], numbers[edge->callee], &edge->sum))
			return ERR_MEMORY;
	}
	return 0;
}

int callgraph_of_stacks(struct callgraph *self, const struct mprof_calls *calls, struct err *err)
{
	struct arena arena = {0};
	struct mprof_calls counted = *calls;
	struct mprof_edges graph = {0};
	u32 *numbers = arena_new_array(&arena, u32, calls->functions.count);
	int status = ERR_MEMORY;

	self->from_stacks = true;
	counted.points.data = count_points(calls, &arena);
	if (numbers && counted.points.data && mprof_edges_read(&graph, &counted, false) == 0)
		status = add_functions(self, calls, &graph, numbers);
	vec_sort(&self->edges, compare_edges);
	mprof_edges_release(&graph);
	arena_release(&arena);
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
