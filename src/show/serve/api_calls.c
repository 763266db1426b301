/* SPDX-License-Identifier: MIT
 * The call graph over HTTP. Runs on threads of the server. */
#include <string.h>

#include "show/serve/api.h"
#include "study/layout/calls.h"

enum { ROWS_MAX = 500 };

/* The function of a parameter, if there is one. */
static bool function_read(struct call *call, const struct callgraph *graph, const char *name,
			  i64 *node)
{
	const char *text = call_text(call, name);

	*node = text ? calls_find(graph, text) : -1;
	return !text || *node >= 0 ||
	       answer_refuse(call->answer, 404, "unknown function '%.200s'", text);
}

static bool calls_read(struct call *call, const struct callgraph *graph, struct calls_query *query)
{
	static const double share[] = {0, 1};
	u32 metric = CALLS_ALLOCS;

	*query = (struct calls_query){.min = 0.005, .up = 2, .down = 2};
	if (!call_word(call, "metric", "allocs or bytes", &metric) ||
	    !function_read(call, graph, "center", &query->center) ||
	    !call_u32(call, "up", 0, 100, &query->up) ||
	    !call_u32(call, "down", 0, 100, &query->down))
		return false;
	query->metric = metric;
	return call_real(call, "min", share, "a share from 0 to 1", &query->min);
}

/* Functions of another trace, by name. */
struct graph_base {
	struct view_scope scope;
	struct study *trace; /* or the part of it */
	const struct callgraph *graph;
	struct map by_name; /* node + 1 */
	bool given;
};

static bool graph_base_find(struct call *call, struct graph_base *self)
{
	struct err err = {0};

	if (!call_base(call, &self->scope, &self->given))
		return false;
	if (!self->given)
		return true;
	self->trace = call_part(call, &self->scope, &err);
	self->graph = self->trace ? study_callgraph(self->trace, &err) : NULL;
	if (!self->graph) {
		call_fail(call, &err);
		return false;
	}
	for (u64 i = self->graph->nodes.count; i-- > 0;)
		map_put(&self->by_name, hash_text(HASH_START, self->graph->nodes.data[i].name),
			i + 1);
	return true;
}

static void graph_base_release(struct call *call, struct graph_base *self)
{
	map_release(&self->by_name);
	if (self->trace)
		call_part_put(call, &self->scope, self->trace);
	view_scope_release(&self->scope);
}

struct graph_answer {
	const struct calls_view *view;
	const struct graph_base *base;
	enum calls_metric metric;
};

static void put_node(struct json *json, const void *list, u64 i)
{
	static const struct callgraph_node nothing;
	const struct graph_answer *self = list;
	const struct graph_base *base = self->base;
	const struct callgraph *graph = self->view->graph;
	const struct calls_node *node = &self->view->nodes.data[i];
	const struct callgraph_node *of = &graph->nodes.data[node->node];
	const u64 *known = map_find(&base->by_name, hash_text(HASH_START, of->name));
	const struct callgraph_node *was = known ? &base->graph->nodes.data[*known - 1] : &nothing;
	double own = known ? calls_self(was, self->metric) : 0;
	double total = known ? calls_total(was, self->metric) : 0;

	put_object(json, NULL, FIELD("id", node->node), FIELD("fn", of->name),
		   NAME("module", of->module), FIELD("self", node->self),
		   FIELD("total", node->total),
		   field_if(!graph->from_stacks, FIELD("calls", of->calls)),
		   SOME("sev", node->severity), SOME("scc", node->cycle),
		   FIELD("hidden_in", node->hidden_in), FIELD("hidden_out", node->hidden_out),
		   field_when(base->given, field_if(known, OBJECT("base", FIELD("self", own),
								  FIELD("total", total)))),
		   field_when(base->given, OBJECT("delta", FIELD("self", node->self - own),
						  FIELD("total", node->total - total))));
}

static void put_edge(struct json *json, const void *list, u64 i)
{
	const struct graph_answer *self = list;
	const struct callgraph_edge *edge =
		&self->view->graph->edges.data[self->view->edges.data[i]];

	put_object(json, NULL, FIELD("from", edge->caller), FIELD("to", edge->callee),
		   FIELD("calls", edge->calls), FIELD("bytes", edge->bytes),
		   FIELD("value", self->metric == CALLS_BYTES ? edge->bytes : edge->calls));
}

static void reply_graph(struct call *call, const struct graph_answer *self)
{
	const struct calls_view *view = self->view;
	u64 edges = view->edges.count < ROWS_MAX * 4 ? view->edges.count : ROWS_MAX * 4;

	reply_object(call, view->found > view->nodes.count,
		     FLAG("from_stacks", view->graph->from_stacks),
		     field_if(view->graph->nodes.count, FIELD("center", view->center)),
		     FIELD("total", view->whole), FIELD("nodes_all", view->found),
		     LIST("nodes", view->nodes.count, put_node, self),
		     LIST("edges", edges, put_edge, self));
}

void api_callgraph(struct call *call)
{
	struct calls_view view = {0};
	struct graph_base base = {0};
	struct calls_query query;
	struct err err = {0};
	const struct callgraph *graph = study_callgraph(call->trace, &err);

	if (!graph) {
		call_fail(call, &err);
		return;
	}
	if (calls_read(call, graph, &query) && graph_base_find(call, &base)) {
		if (calls_view_make(&view, call->trace, &query, &err) < 0)
			call_fail(call, &err);
		else
			reply_graph(call, &(struct graph_answer){&view, &base, query.metric});
	}
	graph_base_release(call, &base);
	calls_view_release(&view);
}

/* Edges of one function, to callers or to what it calls. */
struct edges {
	const struct callgraph *graph;
	u32 node;
	bool callers;
	VEC(u64) rows;
};

static void put_neighbour(struct json *json, const void *list, u64 i)
{
	const struct edges *self = list;
	const struct callgraph_edge *edge = &self->graph->edges.data[self->rows.data[i]];
	u32 other = self->callers ? edge->caller : edge->callee;

	put_object(json, NULL, FIELD("id", other), FIELD("fn", self->graph->nodes.data[other].name),
		   FIELD("calls", edge->calls), FIELD("bytes", edge->bytes));
}

static void reply_edges(struct call *call, bool callers)
{
	struct err err = {0};
	struct edges self = {.graph = study_callgraph(call->trace, &err), .callers = callers};
	i64 node;

	if (!self.graph) {
		call_fail(call, &err);
		return;
	}
	if (!call_text(call, "fn")) {
		call_bad(call, "fn", "the name or number of a function");
		return;
	}
	if (!function_read(call, self.graph, "fn", &node))
		return;
	for (u64 i = 0; i < self.graph->edges.count && self.rows.count < ROWS_MAX; i++) {
		const struct callgraph_edge *edge = &self.graph->edges.data[i];

		if ((callers ? edge->callee : edge->caller) == (u32)node)
			vec_push(&self.rows, i);
	}
	reply_object(call, false, FIELD("fn", self.graph->nodes.data[node].name),
		     LIST("rows", self.rows.count, put_neighbour, &self));
	vec_release(&self.rows);
}

void api_callers(struct call *call) { reply_edges(call, true); }
void api_callees(struct call *call) { reply_edges(call, false); }
