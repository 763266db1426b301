/* SPDX-License-Identifier: MIT
 * The call graph as a table: an entry per function, with its ancestors above and its descendants
 * below it.
 * Host. */
#include "study/analysis/mprof/graph.h"

#include <stdio.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/edges.h"
#include "study/analysis/mprof/text.h"
#include "study/result/field.h"

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

#define SIZES_OVER "/ances\nsize-func\n\\desc"
#define CALLED_OVER "called/total\ncalled/recur\ncalled/total"

static const struct result_column columns[COLUMNS] = {
	COLUMN("entry", NULL, VALUE_ID,
	       "index of the function or cycle whose entry contains the row"),
	COLUMN("kind", NULL, VALUE_TEXT,
	       "entry, ancestor, descendant, all_ancestors, all_descendants; or cycle, member"),
	COLUMN("index", "", VALUE_ID, "index of the function or cycle of this row",
	       .over = "index\n"),
	COLUMN("total_share", "", VALUE_SHARE,
	       "entries: share of all memory allocated by it and its descendants",
	       .over = "self +\ndesc\n", .look = LOOK_TENTHS),
	NUMBER_COLUMN("bytes", "", VALUE_BYTES,
		      "entries: bytes allocated by the function itself; ancestors: by the entry "
		      "and its descendants on its behalf; descendants: in it on the entry's behalf",
		      .over = "self\n"),
	COLUMN("share", "", VALUE_SHARE,
	       "share of these bytes in those of the entry and its descendants; rows of "
	       "descendants: in those of all descendants",
	       .over = "(%)\n", .joint = " ", .look = LOOK_BRACKETS_ALL),
	SIZE_COLUMNS("", SIZES_OVER, "share of these bytes in "),
	SIZE_COLUMNS("frac_", "\nfrac\n", "share in "),
	NUMBER_COLUMN("called", "", VALUE_COUNT,
		      "calls on the stacks of allocations: of the entry by others, by the "
		      "ancestor, of the descendant",
		      .over = CALLED_OVER, .joint = " | "),
	NUMBER_COLUMN("called_of", "", VALUE_COUNT,
		      "entries: calls by itself; ancestors: its calls to any function; "
		      "descendants: calls to it by any function",
		      .over = CALLED_OVER, .joint = "/"),
	COLUMN("name", "", VALUE_TEXT, "the function, or the cycle",
	       .over = " ancestors\nname\n descendants"),
	COLUMN("cycle", NULL, VALUE_ID, "index of the cycle that the function is a member of"),
	COLUMN("module", NULL, VALUE_PATH, "file that contains the function"),
	COLUMN("block", NULL, VALUE_ID,
	       "rows with the same number belong together; a cycle has two such groups"),
};

struct graph {
	const struct mprof_calls *calls;
	const struct mprof_graph_query *query;
	struct mprof_edges edges;
	u32 *order, *index; /* nodes as they are listed; and where each is in that list */
	u32 *members;       /* of the cycle being listed */
	u32 *cycle_number;  /* by node: 1, 2 …, 0 = not a cycle */
	struct mprof_ends callees, callers; /* edges by node, largest first */
	struct arena arena;
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

	/* A cycle comes before its first member. */
	return falling(x->total.bytes, y->total.bytes) ?: falling(x->total.calls, y->total.calls)
		       ?: rising(x->first, y->first)
		       ?: falling(is_cycle(self, i), is_cycle(self, k));
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

	return rising(inside, same_cycle(self, y))
		       ?: (inside ? 0 : falling(x->sum.bytes, y->sum.bytes))
		       ?: falling(x->calls, y->calls) ?: rising(x->caller, y->caller)
		       ?: rising(x->callee, y->callee);
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

static bool group_edges(struct graph *self, bool by_caller, struct mprof_ends *ends)
{
	u64 nodes = self->edges.nodes.count;

	if (!mprof_edges_by(&self->edges, nodes, by_caller, &self->arena, ends))
		return false;
	for (u64 i = 0; i < nodes; i++)
		if (ends->first[i + 1] > ends->first[i])
			qsort_r(ends->list + ends->first[i], ends->first[i + 1] - ends->first[i],
				sizeof *ends->list, compare_edges, self);
	return true;
}

static bool arrange(struct graph *self)
{
	u64 nodes = self->edges.nodes.count + 1;

	self->order = arena_new_array(&self->arena, u32, nodes);
	self->index = arena_new_array(&self->arena, u32, nodes);
	self->cycle_number = arena_new_array(&self->arena, u32, nodes);
	self->members = arena_new_array(&self->arena, u32, nodes);
	if (!self->order || !self->index || !self->cycle_number || !self->members)
		return false;
	number_nodes(self);
	return group_edges(self, true, &self->callees) && group_edges(self, false, &self->callers);
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
	return value_units(self->calls->source->model, units);
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

	row[AT_INDEX] = value_shown(value_number(self->index[node]), "");
	snprintf(after, sizeof after, " [%u]", self->index[node]);
	if (is_cycle(self, node)) {
		snprintf(name, sizeof name, "<cycle %u>", self->cycle_number[node]);
		row[AT_NAME] = mprof_name(self->table, name, MPROF_NAME, after);
		return;
	}
	if (cycle != NO_CYCLE) {
		snprintf(after, sizeof after, " <cycle %u> [%u]", self->cycle_number[cycle],
			 self->index[node]);
		row[AT_CYCLE] = value_number(self->index[cycle]);
	}
	function = mprof_function(self->calls, (struct function_id){node});
	row[AT_NAME] = mprof_name(self->table, function->name, MPROF_NAME, after);
	row[AT_MODULE] = mprof_module(self->table, self->calls, function);
}

static void put_index(struct graph *self, struct value *row, u32 node)
{
	row[AT_INDEX].shown = result_format(self->table, "[%u]", self->index[node]);
	row[AT_TOTAL] = mprof_share(node_at(self, node)->total.bytes, self->calls->all.bytes);
}

/* What a function did itself, and how often it was called. */
static void put_self(struct graph *self, struct value *row, u32 node)
{
	const struct mprof_node *about = node_at(self, node);

	put_name(self, row, node);
	row[AT_BYTES] = value_number(about->self.bytes);
	put_sizes(row + AT_SIZES, &about->self, about->self.bytes);
	row[AT_CALLED] = count(self, about->called);
	row[AT_OTHER] = count(self, about->recur);
	if (!about->recur)
		row[AT_OTHER].shown = "";
}

/* The line of the function itself, which a rule in the frac columns marks. */
static void add_entry(struct graph *self, u32 node)
{
	const struct mprof_node *about = node_at(self, node);
	struct value *row = add_row(self, "entry");

	if (!row)
		return;
	put_self(self, row, node);
	put_index(self, row, node);
	row[AT_SHARE] = value_real(units_share(about->self.bytes, about->total.bytes));
	for (u32 i = 0; i < MPROF_SIZES; i++)
		row[AT_FRAC + i] = value_shown(value_unknown(), "---");
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

/* An ancestor or descendant: node, over edge, of a function or cycle. Inside a cycle nobody can say
 * who asked first, so that most is blank. */
static void add_relative(struct graph *self, u32 node, const struct mprof_edge *edge,
			 const struct mprof_node *of, bool ancestor)
{
	u64 whole = ancestor ? of->total.bytes : of->below.bytes;
	struct value *row = add_row(self, ancestor ? "ancestor" : "descendant");

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
	row[AT_OTHER] =
		count(self, ancestor ? node_at(self, node)->made : node_at(self, node)->called);
}

/* A function's relatives are functions, also where it calls into a cycle; those of a cycle are its
 * own edges. */
static bool is_relative(const struct graph *self, u32 node, u32 relative)
{
	return is_cycle(self, node) || !is_cycle(self, relative);
}

/* Ancestors stand below their sum, descendants above it. */
static void add_relatives(struct graph *self, u32 node, bool ancestors)
{
	const struct mprof_node *about = node_at(self, node);
	const struct mprof_ends *ends = ancestors ? &self->callers : &self->callees;
	const struct mprof_edge *edges = self->edges.edges.data;
	u32 found = 0;

	for (u32 i = ends->first[node]; i < ends->first[node + 1]; i++)
		found += is_relative(self, node,
				     ancestors ? edges[ends->list[i]].caller
					       : edges[ends->list[i]].callee);
	if (ancestors && found > 1)
		add_all(self, "all_ancestors", &about->above);
	for (u32 i = ends->first[node]; i < ends->first[node + 1]; i++) {
		const struct mprof_edge *edge = &edges[ends->list[i]];
		u32 other = ancestors ? edge->caller : edge->callee;

		if (is_relative(self, node, other))
			add_relative(self, other, edge, about, ancestors);
	}
	if (!ancestors && found > 1)
		add_all(self, "all_descendants", &about->below);
}

static int compare_members(const void *a, const void *b, void *graph)
{
	const struct mprof_node *x = node_at(graph, *(const u32 *)a);
	const struct mprof_node *y = node_at(graph, *(const u32 *)b);

	return falling(x->self.bytes, y->self.bytes) ?: rising(x->first, y->first);
}

static void add_member(struct graph *self, u32 node, const struct mprof_sum *whole)
{
	const struct mprof_node *about = node_at(self, node);
	struct value *row = add_row(self, "member");

	if (!row)
		return;
	put_self(self, row, node);
	row[AT_SHARE] = mprof_share(about->self.bytes, whole->bytes);
	put_sizes(row + AT_FRAC, &about->self, whole->bytes);
}

/* The first appearance of a cycle: its members and what each allocated itself. */
static void add_members(struct graph *self, u32 cycle)
{
	const struct mprof_node *about = node_at(self, cycle);
	u32 *members = self->members, found = 0;
	struct value *row = add_row(self, "cycle");

	if (!row)
		return;
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
}

static void fill(struct graph *self)
{
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
		if (is_cycle(self, node))
			add_members(self, node);
		self->block += is_cycle(self, node);
		add_relatives(self, node, true);
		add_entry(self, node);
		add_relatives(self, node, false);
		self->block++;
	}
}

struct result *analyse_mprof_graph(const struct mprof_calls *calls,
				   const struct mprof_graph_query *query, struct err *err)
{
	struct graph self = {.calls = calls, .query = query};
	bool done;

	self.table = result_table("graph", "Allocation call graph", columns);
	done = self.table && mprof_edges_read(&self.edges, calls, !query->keep_cycles) == 0 &&
	       arrange(&self);
	if (done)
		fill(&self);
	else if (self.table)
		self.table->failed = true;
	arena_release(&self.arena);
	mprof_edges_release(&self.edges);
	return result_made(self.table, err, "the call graph");
}
