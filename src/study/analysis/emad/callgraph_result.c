/* SPDX-License-Identifier: MIT
 * A call graph as tables and as DOT.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/mprof/text.h"
#include "host/base/strbuf.h"
#include "host/base/units.h"
#include "host/base/text_width.h"

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
	{.name = "below_allocations",
	 .label = "below",
	 .type = VALUE_COUNT,
	 .meaning = "allocations while it was on the stack",
	 .over = "allocations"},
	{.name = "below_bytes",
	 .label = "bytes",
	 .type = VALUE_BYTES,
	 .meaning = "bytes of these allocations",
	 .over = "allocations"},
	{.name = "allocations",
	 .label = "own",
	 .type = VALUE_COUNT,
	 .meaning = "allocations while it was the innermost function",
	 .over = "allocations"},
	{.name = "bytes",
	 .label = "own bytes",
	 .type = VALUE_BYTES,
	 .meaning = "bytes of these allocations",
	 .over = "allocations"},
	COLUMN("calls", "calls", VALUE_COUNT, "number of calls"),
	COLUMN("inclusive_ns", "time", VALUE_NS, "time from its beginning to its end"),
	COLUMN("exclusive_ns", "own time", VALUE_NS,
	       "time without that of the functions it called"),
	COLUMN("address", NULL, VALUE_ADDRESS, "address of its first instruction in the module"),
};
enum { STACK_COLUMNS = 7, ROUTINE_COLUMNS = sizeof routine_columns / sizeof *routine_columns };

static u64 shown(u64 count, u64 top) { return top && top < count ? top : count; }

/* A name, and how text shows it. */
static struct value name_value(struct result *table, const char *name, u32 columns)
{
	struct value value = value_text(result_copy(table, name));
	const char *brief = mprof_short_name(table, name, "");
	struct strbuf text = {0};

	text_add_function(&text, brief ? brief : name, columns);
	if (!text.failed)
		value = value_shown(value, result_copy(table, strbuf_text(&text)));
	strbuf_release(&text);
	return value;
}

static struct result *edge_table(const struct callgraph *self, u64 top)
{
	struct result *table = result_new(RESULT_TABLE, "edges", "Calls");

	if (!table)
		return NULL;
	if (self->from_stacks)
		result_set_columns(table, stack_edges, 6);
	else
		result_set_columns(table, routine_edges, 5);
	table->empty = "No routine called another one.";
	table->grid = true;
	for (u64 i = 0; i < shown(self->edges.count, top); i++) {
		const struct callgraph_edge *edge = &self->edges.data[i];
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = name_value(table, self->nodes.data[edge->caller].name, EDGE_NAME);
		row[1] = name_value(table, self->nodes.data[edge->callee].name, EDGE_NAME);
		row[2] = value_number(edge->calls);
		row[3] = value_number(edge->caller);
		row[4] = value_number(edge->callee);
		if (self->from_stacks)
			row[5] = value_number(edge->bytes);
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

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
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

static void fill_routine(const struct callgraph *self, struct result *table, u64 number,
			 struct value *row)
{
	const struct callgraph_node *node = &self->nodes.data[number];

	row[0] = value_number(number);
	row[1] = name_value(table, node->name, ROUTINE_NAME);
	row[2] = value_text(result_copy(table, node->module));
	row[3] = value_number(node->below_allocations);
	row[4] = value_number(node->below_bytes);
	row[5] = value_number(node->allocations);
	row[6] = value_number(node->bytes);
	if (self->from_stacks)
		return;
	row[7] = value_number(node->calls);
	row[8] = value_number((u64)node->inclusive_ns);
	row[9] = value_number((u64)node->exclusive_ns);
	row[10] = value_number(node->address);
}

static struct result *routine_table(const struct callgraph *self, u64 top)
{
	struct result *table =
		result_new(RESULT_TABLE, "routines", self->from_stacks ? "Functions" : "Routines");
	struct ranked *order = rank(self);

	if (table && !order)
		table->failed = true;
	if (table) {
		table->grid = true;
		result_set_columns(table, routine_columns,
				   self->from_stacks ? (u64)STACK_COLUMNS : (u64)ROUTINE_COLUMNS);
	}
	for (u64 i = 0; i < shown(self->nodes.count, top) && table && order; i++) {
		struct value *row = result_add_row(table);

		if (!row)
			break;
		fill_routine(self, table, order[i].node, row);
	}
	free(order);
	return table;
}

static void add_field(struct result *result, const char *name, const char *label, u64 value,
		      const char *meaning)
{
	struct result_column column = COLUMN(name, label, VALUE_COUNT, meaning);

	column.hide_zero = true;
	result_add_field(result, column, value_number(value));
}

static void add_fields(struct result *result, const struct callgraph *self)
{
	const struct routine_counts *counts = &self->counts;
	struct result_column source =
		COLUMN("source", "made from", VALUE_TEXT, "source of the graph");

	result_add_field(result, source,
			 value_text(self->from_stacks ? "allocation stacks" : "routine events"));
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

	if (!result) {
		err_memory(err);
		return NULL;
	}
	add_fields(result, self);
	result_add_part(result, edge_table(self, top));
	result_add_part(result, routine_table(self, top));
	if (self->counts.cut_frames)
		result_add_caveat(
			result, "%s closed early, because stacks grew too deep",
			units_things(self->counts.cut_frames, "outer routine(s) (was|were)").text);
	if (!result_failed(result))
		return result;
	err_memory(err);
	result_free(result);
	return NULL;
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
	struct strbuf text = {0};
	const char *copy;

	if (self->from_stacks)
		strbuf_addf(&text, "%s",
			    units_things(node->below_allocations, "allocation(s)").text);
	else
		strbuf_addf(&text, "%s, %s", units_things(node->calls, "call(s)").text,
			    units_ns((u64)node->inclusive_ns).text);
	copy = text.failed ? NULL : arena_copy(arena, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
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
					     self->edges.data[i].calls};
	graph.nodes = nodes;
	graph.edges = edges;
	if (whole)
		render_dot(&graph, out);
	arena_release(&arena);
	return whole;
}
