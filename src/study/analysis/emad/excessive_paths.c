/* SPDX-License-Identifier: MIT
 * How the objects that were found are reached: call trees with the number of allocations on each
 * edge.
 * Host. A second pass over the chunks, for the objects that are shown only. */
#include <inttypes.h>

#include "host/base/order.h"
#include "host/base/search.h"
#include "study/analysis/emad/excessive.h"

static const struct result_column columns[] = {
	COLUMN("object", "object", VALUE_ID, "number of the object in the table of found objects"),
	COLUMN("depth", NULL, VALUE_COUNT, "calls between main and this routine"),
	COLUMN("routine", "routine (allocations through it)", VALUE_TEXT, "routine on the path"),
	COLUMN("frequency", NULL, VALUE_COUNT, "allocations of the object made through this call"),
	COLUMN("calls", "calls", VALUE_COUNT,
	       "calls of this routine by its caller in all, from the routine trace"),
};

struct edge {
	u32 object, caller, call;
	u64 units;
};

struct paths {
	const struct excessive *from;
	struct result *table;
	struct map weights; /* object row << 32 | call → units */
	VEC(u32) shown;     /* by object: its number */
	struct map calls; /* hash of the names of caller and callee → calls in the routine trace */
	VEC(struct edge) edges;
};

static int count_chunks(struct paths *self)
{
	const struct object_table *objects = &self->from->objects;
	const struct model *model = objects->source->model;

	EACH_CHUNK (chunk, model) {
		u64 units, bytes;
		u32 call = 0, object = objects_of_chunk(objects, &chunk, &call);

		if (object == UINT32_MAX || !self->shown.data[object])
			continue;
		model_weigh(model, chunk.page->size[chunk.at], &units, &bytes);
		for (u32 at = call; at; at = objects->calls.calls.data[at].caller) {
			u64 *weight =
				map_at(&self->weights, (u64)self->shown.data[object] << 32 | at);

			if (!weight)
				return ERR_MEMORY;
			*weight += units;
		}
	}
	return 0;
}

static u64 weight_of(const struct paths *self, u64 object, u32 call)
{
	const u64 *weight = map_find(&self->weights, object << 32 | call);

	return weight ? *weight : 0;
}

/* Routines of a graph are places and those of a stack may be inlined: they meet in their names. A
 * call of nobody is that of a routine which no other calls. */
static u64 pair_hash(const char *caller, const char *callee)
{
	return hash_u64(hash_text(hash_text(HASH_START, caller), callee));
}

static int read_calls(struct paths *self)
{
	const struct callgraph *graph = self->from->query->routines;

	for (u64 i = 0; graph && i < graph->edges.count; i++) {
		const struct callgraph_edge *edge = &graph->edges.data[i];
		u64 *calls = map_at(&self->calls, pair_hash(graph->nodes.data[edge->caller].name,
							    graph->nodes.data[edge->callee].name));

		if (!calls)
			return ERR_MEMORY;
		*calls += edge->calls;
	}
	for (u64 i = 0; graph && i < graph->nodes.count; i++) {
		u64 *calls = map_at(&self->calls, pair_hash("", graph->nodes.data[i].name));

		if (!calls)
			return ERR_MEMORY;
		*calls += graph->nodes.data[i].calls;
	}
	return 0;
}

static const char *call_name(const struct paths *self, u32 call)
{
	const struct mprof_calls *calls = &self->from->objects.calls;

	return call ? mprof_function(calls, calls->calls.data[call].function)->name : "";
}

static void add_row(struct paths *self, u64 object, u32 depth, u32 call)
{
	const struct object_table *objects = &self->from->objects;
	const char *name = call_name(self, call),
		   *caller = call_name(self, objects->calls.calls.data[call].caller);
	const u64 *calls = map_find(&self->calls, pair_hash(caller, name));
	u64 count = model_count(objects->source->model, weight_of(self, object, call));
	int indent = depth < 40 ? 2 * (int)depth : 80;

	result_row(self->table, value_number(object), value_number(depth),
		   value_shown(value_text(result_copy(self->table, name)),
			       result_format(self->table, "%*s%s (%" PRIu64 ")", indent, "", name,
					     count)),
		   value_number(count), value_if(calls, value_number(calls ? *calls : 0)));
}

static int by_caller(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return rising(x->object, y->object) ?: rising(x->caller, y->caller)
		       ?: falling(x->units, y->units) ?: rising(x->call, y->call);
}

/* The edges in the order in which trees are walked: an object's, by caller, the heaviest first. */
static int sort_edges(struct paths *self)
{
	const struct mprof_calls *calls = &self->from->objects.calls;

	for (u64 at = 0, key, units; map_next(&self->weights, &at, &key, &units);) {
		struct edge edge = {.object = (u32)(key >> 32),
				    .caller = calls->calls.data[(u32)key].caller,
				    .call = (u32)key,
				    .units = units};

		if (!vec_push(&self->edges, edge))
			return ERR_MEMORY;
	}
	vec_sort(&self->edges, by_caller);
	return 0;
}

/* The first edge of a caller, or of what would follow it. */
static u64 first_edge(const struct paths *self, u32 object, u32 caller)
{
	struct edge want = {.object = object, .caller = caller, .units = UINT64_MAX};

	return bisect(i, self->edges.count, by_caller(&self->edges.data[i], &want) < 0);
}

struct step {
	u32 call, depth;
};

/* Without recursion: a stack of a program may be deep. */
static void add_tree(struct paths *self, u32 object, bool all)
{
	VEC(struct step) open = {0};
	struct step step = {0};

	do {
		u64 first = first_edge(self, object, step.call), end = first;

		while (end < self->edges.count && self->edges.data[end].object == object &&
		       self->edges.data[end].caller == step.call && (all || end == first))
			end++;
		/* The heaviest is pushed last and so comes first. */
		for (u64 i = end; i-- > first;) {
			struct step next = {self->edges.data[i].call, step.depth + 1};

			if (!vec_push(&open, next))
				self->table->failed = true;
		}
		if (!open.count)
			break;
		step = open.data[--open.count];
		add_row(self, object, step.depth - 1, step.call);
	} while (!self->table->failed);
	vec_release(&open);
}

struct result *excessive_paths(const struct excessive *from)
{
	struct paths self = {.from = from,
			     .table = result_new(RESULT_TABLE, "paths",
						 from->query->all_paths ? "All call paths"
									: "Heaviest call paths")};
	u64 found = 0, count = sizeof columns / sizeof *columns;

	if (!self.table)
		return NULL;
	self.table->grid = true;
	self.table->rule_by = 1; /* the object */
	self.table->empty = "no object was found";
	result_set_columns(self.table, columns, from->query->routines ? count : count - 1);
	if (!vec_extend(&self.shown, from->objects.rows.count))
		self.table->failed = true;
	for (; found < result_top(from->found.count, from->query->top) && !self.table->failed;
	     found++)
		self.shown.data[from->rows.data[from->found.data[found]].object] = (u32)found + 1;
	if (found && (read_calls(&self) < 0 || count_chunks(&self) < 0 || sort_edges(&self) < 0))
		self.table->failed = true;
	for (u32 object = 1; object <= found && !self.table->failed; object++)
		add_tree(&self, object, from->query->all_paths);
	map_release(&self.weights);
	map_release(&self.calls);
	vec_release(&self.edges);
	vec_release(&self.shown);
	return self.table;
}
