/* SPDX-License-Identifier: MIT
 * The call graph as a table: an entry per function, with its ancestors above and its descendants
 * below it.
 * Host. */
#include "study/analysis/mprof/graph.h"

#include <stdio.h>
#include <string.h>

#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/edges.h"
#include "study/analysis/mprof/text.h"

enum column {
	AT_ENTRY,
	AT_KIND,
	AT_INDEX,
	AT_TOTAL,
	AT_BYTES,
	AT_SHARE,
	AT_SIZES,
	AT_FRAC = AT_SIZES + MPROF_SIZES,
	AT_CALLED = AT_FRAC + MPROF_SIZES,
	AT_OTHER,
	AT_NAME,
	AT_CYCLE,
	AT_MODULE,
	AT_BLOCK,
	COLUMNS
};

#define PART_COLUMN(name_, label_, joint_, over_, meaning_)                                        \
	{                                                                                          \
		.name = (name_), .label = (label_), .type = VALUE_SHARE, .look = LOOK_PERCENT,     \
		.joint = (joint_), .over = (over_), .meaning = (meaning_)                          \
	}
#define SIZES_OVER "/ances\nsize-func\n\\desc"
#define FRAC_OVER "\nfrac\n"
#define CALLED_OVER "called/total\ncalled/recur\ncalled/total"

static const struct result_column columns[COLUMNS] = {
	[AT_ENTRY] = {.name = "entry",
		      .type = VALUE_ID,
		      .meaning = "index of the function or cycle whose entry contains the row"},
	[AT_KIND] = {.name = "kind",
		     .type = VALUE_TEXT,
		     .meaning = "entry, ancestor, descendant, all_ancestors, all_descendants; or "
				"cycle, member"},
	[AT_INDEX] = {.name = "index",
		      .label = "",
		      .over = "index\n",
		      .type = VALUE_ID,
		      .meaning = "index of the function or cycle of this row"},
	[AT_TOTAL] = {.name = "total_share",
		      .label = "",
		      .over = "self +\ndesc\n",
		      .type = VALUE_SHARE,
		      .look = LOOK_TENTHS,
		      .meaning = "entries: share of all memory allocated by it and its "
				 "descendants"},
	[AT_BYTES] = {.name = "bytes",
		      .label = "",
		      .over = "self\n",
		      .type = VALUE_BYTES,
		      .look = LOOK_PLAIN,
		      .meaning =
			      "entries: bytes allocated by the function itself; ancestors: by the "
			      "entry and its descendants on its behalf; descendants: in it on the "
			      "entry's behalf"},
	[AT_SHARE] = {.name = "share",
		      .label = "",
		      .over = "(%)\n",
		      .joint = " ",
		      .type = VALUE_SHARE,
		      .look = LOOK_BRACKETS_ALL,
		      .meaning = "share of these bytes in those of the entry and its descendants; "
				 "rows of descendants: in those of all descendants"},
	[AT_SIZES] = PART_COLUMN("small", "s", " | ", SIZES_OVER,
				 "share of these bytes in chunks up to 32 bytes"),
	PART_COLUMN("medium", "m", " ", SIZES_OVER,
		    "share of these bytes in chunks of 33 to 256 bytes"),
	PART_COLUMN("large", "l", " ", SIZES_OVER,
		    "share of these bytes in chunks of 257 to 2048 bytes"),
	PART_COLUMN("extra_large", "x", " ", SIZES_OVER, "share of these bytes in larger chunks"),
	[AT_FRAC] =
		PART_COLUMN("frac_small", "s", " | ", FRAC_OVER, "share in chunks up to 32 bytes"),
	PART_COLUMN("frac_medium", "m", " ", FRAC_OVER, "share in chunks of 33 to 256 bytes"),
	PART_COLUMN("frac_large", "l", " ", FRAC_OVER, "share in chunks of 257 to 2048 bytes"),
	PART_COLUMN("frac_extra_large", "x", " ", FRAC_OVER, "share in larger chunks"),
	[AT_CALLED] = {.name = "called",
		       .label = "",
		       .over = CALLED_OVER,
		       .joint = " | ",
		       .type = VALUE_COUNT,
		       .look = LOOK_PLAIN,
		       .meaning =
			       "calls on the stacks of allocations: of the entry by others, by the "
			       "ancestor, of the descendant"},
	[AT_OTHER] = {.name = "called_of",
		      .label = "",
		      .over = CALLED_OVER,
		      .joint = "/",
		      .type = VALUE_COUNT,
		      .look = LOOK_PLAIN,
		      .meaning = "entries: calls by itself; ancestors: its calls to any function; "
				 "descendants: calls to it by any function"},
	[AT_NAME] = {.name = "name",
		     .label = "",
		     .over = " ancestors\nname\n descendants",
		     .type = VALUE_TEXT,
		     .meaning = "the function, or the cycle"},
	[AT_CYCLE] = {.name = "cycle",
		      .type = VALUE_ID,
		      .meaning = "index of the cycle that the function is a member of"},
	[AT_MODULE] = {.name = "module",
		       .type = VALUE_PATH,
		       .meaning = "file that contains the function"},
	[AT_BLOCK] = {.name = "block",
		      .type = VALUE_ID,
		      .meaning = "rows with the same number belong together; a cycle has two such "
				 "groups"},
};

struct graph {
	const struct mprof_calls *calls;
	const struct mprof_graph_query *query;
	struct mprof_edges edges;
	u32 *order, *index;         /* nodes as they are listed; and where each is in that list */
	u32 *cycle_number;          /* by node: 1, 2 …, 0 = not a cycle */
	u32 *by_caller, *by_callee; /* edges grouped by node, largest first … */
	u32 *callees, *callers;     /* … and where each node's begin */
	struct result *table;
	u64 entry, block; /* being listed */
};

static const struct mprof_node *node_at(const struct graph *self, u32 node)
{
	return &self->edges.nodes.data[node];
}

static bool is_cycle(const struct graph *self, u32 node) { return node >= self->edges.functions; }

/* ---- order ---- */

static int compare_nodes(const void *a, const void *b, void *graph)
{
	const struct graph *self = graph;
	u32 i = *(const u32 *)a, k = *(const u32 *)b;
	const struct mprof_node *x = node_at(self, i), *y = node_at(self, k);

	if (x->total.bytes != y->total.bytes)
		return x->total.bytes > y->total.bytes ? -1 : 1;
	if (x->total.calls != y->total.calls)
		return x->total.calls > y->total.calls ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return is_cycle(self, i) ? -1 : is_cycle(self, k); /* before its first member */
}

static bool same_cycle(const struct graph *self, const struct mprof_edge *edge)
{
	u32 cycle = node_at(self, edge->caller)->cycle;

	return cycle != NO_CYCLE && cycle == node_at(self, edge->callee)->cycle;
}

/* Those inside a cycle, whose bytes are not shown, come last. */
static int compare_edges(const void *a, const void *b, void *graph)
{
	const struct graph *self = graph;
	const struct mprof_edge *edges = self->edges.edges.data;
	const struct mprof_edge *x = &edges[*(const u32 *)a], *y = &edges[*(const u32 *)b];
	bool inside = same_cycle(self, x);

	if (inside != same_cycle(self, y))
		return inside ? 1 : -1;
	if (!inside && x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Functions that were only in stacks of frees have no entry. */
static bool is_listed(const struct graph *self, u32 node)
{
	return node_at(self, node)->total.calls != 0;
}

static void number_nodes(struct graph *self)
{
	u32 count = (u32)self->edges.nodes.count, cycles = 0;

	for (u32 i = 0; i < count; i++)
		self->order[i] = i;
	qsort_r(self->order, count, sizeof *self->order, compare_nodes, self);
	for (u32 i = 0; i < count; i++) {
		self->index[self->order[i]] = i;
		if (is_cycle(self, self->order[i]))
			self->cycle_number[self->order[i]] = ++cycles;
	}
}

/* Fills list with the edges by one of their ends, and first[node] with where each node's begin. */
static void group_edges(struct graph *self, u32 *list, u32 *first, bool by_caller)
{
	const struct mprof_edge *edges = self->edges.edges.data;
	u64 nodes = self->edges.nodes.count, count = self->edges.edges.count;

	for (u64 i = 0; i < count; i++)
		first[(by_caller ? edges[i].caller : edges[i].callee) + 2]++;
	for (u64 i = 0; i <= nodes; i++)
		first[i + 1] += first[i];
	for (u32 i = 0; i < count; i++)
		list[first[(by_caller ? edges[i].caller : edges[i].callee) + 1]++] = i;
	for (u64 i = 0; i < nodes; i++)
		if (first[i + 1] > first[i])
			qsort_r(list + first[i], first[i + 1] - first[i], sizeof *list,
				compare_edges, self);
}

static bool arrange(struct graph *self)
{
	u64 nodes = self->edges.nodes.count + 3, edges = self->edges.edges.count + 1;

	self->order = calloc(nodes, sizeof *self->order);
	self->index = calloc(nodes, sizeof *self->index);
	self->cycle_number = calloc(nodes, sizeof *self->cycle_number);
	self->by_caller = calloc(edges, sizeof *self->by_caller);
	self->by_callee = calloc(edges, sizeof *self->by_callee);
	self->callees = calloc(nodes, sizeof *self->callees);
	self->callers = calloc(nodes, sizeof *self->callers);
	if (!self->order || !self->index || !self->cycle_number || !self->by_caller ||
	    !self->by_callee || !self->callees || !self->callers)
		return false;
	number_nodes(self);
	group_edges(self, self->by_caller, self->callees, true);
	group_edges(self, self->by_callee, self->callers, false);
	return true;
}

/* ---- rows ---- */

static struct value *add_row(struct graph *self, const char *kind)
{
	struct value *row = result_add_row(self->table);

	if (!row)
		return NULL;
	row[AT_ENTRY] = value_number(self->entry);
	row[AT_KIND] = value_text(kind);
	row[AT_BLOCK] = value_number(self->block);
	return row;
}

static struct value count(const struct graph *self, u64 units)
{
	return value_number(model_count(self->calls->source->model, units));
}

static void put_sizes(struct value *cells, const struct mprof_sum *sum, u64 whole)
{
	for (u32 i = 0; i < MPROF_SIZES; i++)
		cells[i] = mprof_share(sum->sizes[i], whole);
}

static void put_name(struct graph *self, struct value *row, u32 node)
{
	const struct mprof_function *function;
	u32 cycle = node_at(self, node)->cycle;
	char after[64], name[32];

	row[AT_INDEX] = value_number(self->index[node]);
	row[AT_INDEX].shown = "";
	if (is_cycle(self, node)) {
		snprintf(name, sizeof name, "<cycle %u>", self->cycle_number[node]);
		snprintf(after, sizeof after, " [%u]", self->index[node]);
		row[AT_NAME] = value_text(result_copy(self->table, name));
		row[AT_NAME].shown = mprof_short_name(self->table, name, after);
		return;
	}
	function = mprof_function(self->calls, (struct function_id){node});
	if (cycle == NO_CYCLE)
		snprintf(after, sizeof after, " [%u]", self->index[node]);
	else
		snprintf(after, sizeof after, " <cycle %u> [%u]", self->cycle_number[cycle],
			 self->index[node]);
	row[AT_NAME] = value_text(result_copy(self->table, function->name));
	row[AT_NAME].shown = mprof_short_name(self->table, function->name, after);
	row[AT_MODULE] = value_text(mprof_module(self->table, self->calls, function));
	if (cycle != NO_CYCLE)
		row[AT_CYCLE] = value_number(self->index[cycle]);
}

static void put_index(struct graph *self, struct value *row, u32 node)
{
	char text[24];

	snprintf(text, sizeof text, "[%u]", self->index[node]);
	row[AT_INDEX].shown = result_copy(self->table, text);
	row[AT_TOTAL] = mprof_share(node_at(self, node)->total.bytes, self->calls->all.bytes);
}

/* The line of the function itself, which a rule in the frac columns marks. */
static void add_entry(struct graph *self, u32 node)
{
	const struct mprof_node *about = node_at(self, node);
	struct value *row = add_row(self, "entry");

	if (!row)
		return;
	put_name(self, row, node);
	put_index(self, row, node);
	row[AT_BYTES] = value_number(about->self.bytes);
	row[AT_SHARE] = value_real(
		about->total.bytes ? (double)about->self.bytes / (double)about->total.bytes : 0);
	put_sizes(row + AT_SIZES, &about->self, about->self.bytes);
	for (u32 i = 0; i < MPROF_SIZES; i++)
		row[AT_FRAC + i] = value_shown(value_unknown(), "---");
	row[AT_CALLED] = count(self, about->called);
	row[AT_OTHER] = count(self, about->recur);
	if (!about->recur)
		row[AT_OTHER].shown = "";
}

static void add_all(struct graph *self, const char *kind, const struct mprof_sum *sum)
{
	struct value *row = add_row(self, kind);

	if (!row)
		return;
	row[AT_TOTAL] = value_shown(value_unknown(), "all");
	row[AT_BYTES] = value_number(sum->bytes);
	put_sizes(row + AT_SIZES, sum, sum->bytes);
}

/* An ancestor or descendant: node, over edge, of `whole` bytes. Inside a cycle nobody can say who
 * asked first, so that most is blank. */
static void add_relative(struct graph *self, const char *kind, u32 node,
			 const struct mprof_edge *edge, u64 whole, u64 calls)
{
	struct value *row = add_row(self, kind);

	if (!row)
		return;
	put_name(self, row, node);
	row[AT_CALLED] = count(self, edge->calls);
	if (same_cycle(self, edge))
		return;
	row[AT_BYTES] = value_number(edge->sum.bytes);
	row[AT_SHARE] = mprof_share(edge->sum.bytes, whole);
	put_sizes(row + AT_SIZES, &edge->sum, edge->sum.bytes);
	put_sizes(row + AT_FRAC, &edge->sum, whole);
	row[AT_OTHER] = count(self, calls);
}

/* A function's relatives are functions, also where it calls into a cycle; those of a cycle are its
 * own edges. */
static bool is_relative(const struct graph *self, u32 node, u32 relative)
{
	return is_cycle(self, node) || !is_cycle(self, relative);
}

static u32 count_relatives(const struct graph *self, u32 node, bool ancestors)
{
	const u32 *list = ancestors ? self->by_callee : self->by_caller;
	const u32 *first = ancestors ? self->callers : self->callees;
	u32 found = 0;

	for (u32 i = first[node]; i < first[node + 1]; i++) {
		const struct mprof_edge *edge = &self->edges.edges.data[list[i]];

		found += is_relative(self, node, ancestors ? edge->caller : edge->callee);
	}
	return found;
}

static void add_ancestors(struct graph *self, u32 node)
{
	const struct mprof_node *about = node_at(self, node);

	if (count_relatives(self, node, true) > 1)
		add_all(self, "all_ancestors", &about->above);
	for (u32 i = self->callers[node]; i < self->callers[node + 1]; i++) {
		const struct mprof_edge *edge = &self->edges.edges.data[self->by_callee[i]];

		if (is_relative(self, node, edge->caller))
			add_relative(self, "ancestor", edge->caller, edge, about->total.bytes,
				     node_at(self, edge->caller)->made);
	}
}

static void add_descendants(struct graph *self, u32 node)
{
	const struct mprof_node *about = node_at(self, node);

	for (u32 i = self->callees[node]; i < self->callees[node + 1]; i++) {
		const struct mprof_edge *edge = &self->edges.edges.data[self->by_caller[i]];

		if (is_relative(self, node, edge->callee))
			add_relative(self, "descendant", edge->callee, edge, about->below.bytes,
				     node_at(self, edge->callee)->called);
	}
	if (count_relatives(self, node, false) > 1)
		add_all(self, "all_descendants", &about->below);
}

static int compare_members(const void *a, const void *b, void *graph)
{
	const struct mprof_node *x = node_at(graph, *(const u32 *)a);
	const struct mprof_node *y = node_at(graph, *(const u32 *)b);

	if (x->self.bytes != y->self.bytes)
		return x->self.bytes > y->self.bytes ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void add_member(struct graph *self, u32 node, const struct mprof_sum *whole)
{
	const struct mprof_node *about = node_at(self, node);
	struct value *row = add_row(self, "member");

	if (!row)
		return;
	put_name(self, row, node);
	row[AT_BYTES] = value_number(about->self.bytes);
	row[AT_SHARE] = mprof_share(about->self.bytes, whole->bytes);
	put_sizes(row + AT_SIZES, &about->self, about->self.bytes);
	put_sizes(row + AT_FRAC, &about->self, whole->bytes);
	row[AT_CALLED] = count(self, about->called);
	row[AT_OTHER] = count(self, about->recur);
	if (!about->recur)
		row[AT_OTHER].shown = "";
}

/* The first appearance of a cycle: its members and what each allocated itself. */
static bool add_members(struct graph *self, u32 cycle)
{
	const struct mprof_node *about = node_at(self, cycle);
	u32 *members = calloc((u64)self->edges.functions + 1, sizeof *members), found = 0;
	struct value *row = members ? add_row(self, "cycle") : NULL;

	if (!row) {
		free(members);
		return false;
	}
	put_name(self, row, cycle);
	put_index(self, row, cycle);
	row[AT_BYTES] = value_number(about->self.bytes);
	put_sizes(row + AT_SIZES, &about->self, about->self.bytes);
	for (u32 i = 0; i < self->edges.functions; i++)
		if (node_at(self, i)->cycle == cycle)
			members[found++] = i;
	qsort_r(members, found, sizeof *members, compare_members, self);
	for (u32 i = 0; i < found; i++)
		add_member(self, members[i], &about->self);
	free(members);
	return true;
}

static bool fill(struct graph *self)
{
	result_set_columns(self->table, columns, COLUMNS);
	for (u32 i = 0; i < MPROF_SIZES && self->calls->lisp && !result_failed(self->table); i++) {
		lisp_column(self->table, AT_SIZES + i, i, "");
		lisp_column(self->table, AT_FRAC + i, i, "frac_");
	}
	self->table->grid = true;
	self->table->rule_by = AT_BLOCK + 1;
	self->table->empty = "nothing was allocated";
	for (u32 i = 0; i < self->edges.nodes.count; i++) {
		u32 node = self->order[i];

		if (!is_listed(self, node))
			continue;
		self->entry = i;
		if (is_cycle(self, node) && !add_members(self, node))
			return false;
		self->block += is_cycle(self, node);
		add_ancestors(self, node);
		add_entry(self, node);
		add_descendants(self, node);
		self->block++;
	}
	return !result_failed(self->table);
}

struct result *analyse_mprof_graph(const struct mprof_calls *calls,
				   const struct mprof_graph_query *query, struct err *err)
{
	struct graph self = {.calls = calls, .query = query};
	bool done;

	self.table = result_new(RESULT_TABLE, "graph", "Allocation call graph");
	done = self.table && mprof_edges_read(&self.edges, calls, !query->keep_cycles) == 0 &&
	       arrange(&self) && fill(&self);
	if (!done) {
		err_memory_for(err, "the call graph");
		result_free(self.table);
		self.table = NULL;
	}
	free(self.order);
	free(self.index);
	free(self.cycle_number);
	free(self.by_caller);
	free(self.by_callee);
	free(self.callees);
	free(self.callers);
	mprof_edges_release(&self.edges);
	return self.table;
}
