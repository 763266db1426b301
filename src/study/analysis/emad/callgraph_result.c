/* SPDX-License-Identifier: MIT
 * A call graph as tables and as DOT.
 * Host. */
#include <string.h>

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/mprof/text.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "study/result/field.h"

/* Columns that names may take in text; programs get them whole. */
enum { EDGE_NAME = 38, ROUTINE_NAME = 32 };

static const struct result_column routine_edges[] = {
	COLUMN("caller", "caller", VALUE_TEXT, "calling routine"),
	COLUMN("callee", "callee", VALUE_TEXT, "called routine"),
	COLUMN("calls", "calls", VALUE_COUNT, "number of calls"),
	COLUMN("caller_id", NULL, VALUE_ID, "number of the caller in the table of routines"),
	COLUMN("callee_id", NULL, VALUE_ID, "number of the callee in the table of routines"),
};

static const struct result_column stack_edges[] = {
	COLUMN("caller", "caller", VALUE_TEXT, "calling function"),
	COLUMN("callee", "callee", VALUE_TEXT, "called function"),
	COLUMN("allocations", "allocations", VALUE_COUNT, "allocations made within the call"),
	COLUMN("caller_id", NULL, VALUE_ID, "number of the caller in the table of functions"),
	COLUMN("callee_id", NULL, VALUE_ID, "number of the callee in the table of functions"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "bytes requested within the call"),
};

static const struct result_column routine_columns[] = {
	COLUMN("id", NULL, VALUE_ID, "number in this graph"),
	COLUMN("routine", "routine", VALUE_TEXT, "its name"),
	COLUMN("module", NULL, VALUE_PATH, "file that contains it"),
	COLUMN("below_allocations", "below", VALUE_COUNT, "allocations while it was on the stack",
	       .over = "allocations"),
	COLUMN("below_bytes", "bytes", VALUE_BYTES, "bytes of these allocations",
	       .over = "allocations"),
	COLUMN("allocations", "own", VALUE_COUNT, "allocations while it was the innermost function",
	       .over = "allocations"),
	COLUMN("bytes", "own bytes", VALUE_BYTES, "bytes of these allocations",
	       .over = "allocations"),
	COLUMN("calls", "calls", VALUE_COUNT, "number of calls"),
	COLUMN("inclusive_ns", "time", VALUE_NS, "time from its beginning to its end"),
	COLUMN("exclusive_ns", "own time", VALUE_NS,
	       "time without that of the functions it called"),
	COLUMN("address", NULL, VALUE_ADDRESS, "address of its first instruction in the module"),
};
enum { STACK_COLUMNS = 7, ROUTINE_COLUMNS = sizeof routine_columns / sizeof *routine_columns };

static struct result *edge_table(const struct callgraph *self, u64 top)
{
	struct result *table = self->from_stacks ? result_table("edges", "Calls", stack_edges)
						 : result_table("edges", "Calls", routine_edges);

	if (!table)
		return NULL;
	table->empty = "No routine called another one.";
	table->grid = true;
	for (u64 i = 0; i < result_top(self->edges.count, top); i++) {
		const struct callgraph_edge *edge = &self->edges.data[i];

		result_row(table,
			   mprof_name(table, self->nodes.data[edge->caller].name, EDGE_NAME, ""),
			   mprof_name(table, self->nodes.data[edge->callee].name, EDGE_NAME, ""),
			   value_number(edge->calls), value_number(edge->caller),
			   value_number(edge->callee), value_number(edge->bytes));
	}
	return table;
}

/* Numbers of nodes, those first that matter: by calls, or by what is allocated below them. */
struct ranked {
	u64 weight, node;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return falling(x->weight, y->weight) ?: rising(x->node, y->node);
}

static struct ranked *rank(const struct callgraph *self)
{
	struct ranked *order = malloc((self->nodes.count + 1) * sizeof(*order));

	for (u64 i = 0; i < self->nodes.count && order; i++)
		order[i] = (struct ranked){self->from_stacks ? self->nodes.data[i].below_allocations
							     : self->nodes.data[i].calls,
					   i};
	if (order)
		qsort(order, self->nodes.count, sizeof(*order), compare_ranked);
	return order;
}

static struct result *routine_table(const struct callgraph *self, u64 top)
{
	struct result *table =
		result_new_table("routines", self->from_stacks ? "Functions" : "Routines",
				 routine_columns,
				 self->from_stacks ? (u64)STACK_COLUMNS : (u64)ROUTINE_COLUMNS);
	struct ranked *order = rank(self);

	if (table) {
		table->failed |= !order;
		table->grid = true;
	}
	for (u64 i = 0; i < result_top(self->nodes.count, top) && table && order; i++) {
		const struct callgraph_node *node = &self->nodes.data[order[i].node];

		result_row(table, value_number(order[i].node),
			   mprof_name(table, node->name, ROUTINE_NAME, ""),
			   value_text(result_copy(table, node->module)),
			   value_number(node->below_allocations), value_number(node->below_bytes),
			   value_number(node->allocations), value_number(node->bytes),
			   value_number(node->calls), value_number((u64)node->inclusive_ns),
			   value_number((u64)node->exclusive_ns), value_number(node->address));
	}
	free(order);
	return table;
}

static void add_field(struct result *result, const char *name, const char *label, u64 value,
		      const char *meaning)
{
	result_field(result, name, label, VALUE_COUNT, value_number(value), meaning,
		     .hide_zero = true);
}

static void add_fields(struct result *result, const struct callgraph *self)
{
	const struct routine_counts *counts = &self->counts;

	result_field(result, "source", "made from", VALUE_TEXT,
		     value_text(self->from_stacks ? "allocation stacks" : "routine events"),
		     "source of the graph");
	add_field(result, "nodes", self->from_stacks ? "functions" : "routines", self->nodes.count,
		  "nodes of the graph");
	add_field(result, "edge_count", "pairs of caller and callee", self->edges.count,
		  "edges of the graph");
	if (self->from_stacks)
		return;
	add_field(result, "calls", "calls", counts->enters, "routines that began");
	add_field(result, "ends", "ends", counts->leaves, "recorded ends of routines");
	add_field(result, "unwound", "of those unwound", counts->unwound,
		  "ends by an exception or a longjmp");
	add_field(result, "missing_exits", "missing ends", counts->missing_exits,
		  "routines whose end was missing when a caller ended, as after tail calls");
	add_field(result, "unfinished", "unfinished", counts->unfinished,
		  "routines that had not ended at the end of the recording");
	add_field(result, "strange_exits", "strange ends", counts->strange_exits,
		  "ends of routines that were not on the stack; ignored");
	add_field(result, "allocations", "allocations", counts->allocations,
		  "allocations within routines");
	add_field(result, "outside_allocations", "of those outside", counts->outside_allocations,
		  "allocations outside all routines");
}

struct result *callgraph_result(const struct callgraph *self, u64 top, struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "callgraph", "");

	if (!result)
		return result_made(NULL, err, "the call graph");
	add_fields(result, self);
	result_add_part(result, edge_table(self, top));
	result_add_part(result, routine_table(self, top));
	if (self->counts.cut_frames)
		result_add_caveat(
			result, "%s closed early, because stacks grew too deep",
			units_things(self->counts.cut_frames, "outer routine(s) (was|were)").text);
	return result_made(result, err, "the call graph");
}

/* Whether a routine of the program's own file was recorded. */
static bool has_program(const struct routine_graph *graph)
{
	bool found = false;

	for (u64 i = 0; i < graph->nodes.count && !found; i++) {
		const struct modmap_module *module =
			modmap_module(&graph->modules, graph->nodes.data[i].module);

		found = module && (!*module->path ||
				   (graph->program && strcmp(module->path, graph->program) == 0));
	}
	return found;
}

void callgraph_add_caveats(struct result *result, const struct routine_graph *graph)
{
	const char *sample = routine_graph_note(graph, "routine_sample");
	const char *filter = routine_graph_note(graph, "routine_filter");
	const char *left_out = routine_graph_note(graph, "routine_left_out");
	const char *unwritten = routine_graph_note(graph, "routine_unwritten");

	const char *by = routine_graph_note(graph, "routines");

	if (by && strcmp(by, "emad") == 0)
		result_add_caveat(result,
				  "the imported text has times of allocations and frees only, so "
				  "times of routines are coarse");
	if (filter && *filter)
		result_add_caveat(result, "only some routines were recorded: %s", filter);
	else if (by && strcmp(by, "valgrind") == 0 && !has_program(graph))
		result_add_caveat(
			result,
			"no routine of the program itself was recorded: Valgrind knows none "
			"without symbols; record a program that is not stripped");
	if (sample && *sample)
		result_add_caveat(result,
				  "one call in %s was recorded; counts are those of the sample",
				  sample);
	if (left_out && strcmp(left_out, "0") != 0)
		result_add_caveat(result, "routine events left out while recording: %s", left_out);
	if (unwritten)
		result_add_caveat(result,
				  "routine events missing because the trace had reached its size "
				  "limit: %s",
				  unwritten);
}

/* ---- DOT ---- */

static const char *remark_of(const struct callgraph *self, const struct callgraph_node *node,
			     struct arena *arena)
{
	if (self->from_stacks)
		return arena_format(arena, "%s",
				    units_things(node->below_allocations, "allocation(s)").text);
	return arena_format(arena, "%s, %s", units_things(node->calls, "call(s)").text,
			    units_ns((u64)node->inclusive_ns).text);
}

bool callgraph_render_dot(const struct callgraph *self, const char *name, FILE *out)
{
	struct dot_graph graph = {.name = name,
				  .node_count = self->nodes.count,
				  .edge_count = self->edges.count};
	struct arena arena = {0};
	struct dot_node *nodes = arena_new_array(&arena, struct dot_node, self->nodes.count + 1);
	struct dot_edge *edges = arena_new_array(&arena, struct dot_edge, self->edges.count + 1);
	double most = 1;
	bool whole = nodes && edges;

	for (u64 i = 0; i < self->nodes.count && whole; i++) {
		const struct callgraph_node *node = &self->nodes.data[i];

		nodes[i] = (struct dot_node){
			.label = node->name,
			.remark = remark_of(self, node, &arena),
			.tooltip = *node->module ? node->module : NULL,
			.share = self->from_stacks ? (double)node->below_allocations
						   : node->inclusive_ns,
		};
		whole = nodes[i].remark;
		most = nodes[i].share > most ? nodes[i].share : most;
	}
	for (u64 i = 0; i < self->nodes.count && whole; i++)
		nodes[i].share /= most;
	for (u64 i = 0; i < self->edges.count && whole; i++)
		edges[i] = (struct dot_edge){self->edges.data[i].caller, self->edges.data[i].callee,
					     self->edges.data[i].calls, false};
	graph.nodes = nodes;
	graph.edges = edges;
	if (whole)
		render_dot(&graph, out);
	arena_release(&arena);
	return whole;
}
