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

struct graph_answer {
	struct calls_view view;
	const struct callgraph *base; /* of another trace; NULL = there is none */
	struct map by_name;           /* its nodes + 1 */
	enum calls_metric metric;
};

static void put_node(struct json *json, const void *list, u64 i)
{
	static const struct callgraph_node nothing;
	const struct graph_answer *self = list;
	const struct callgraph *graph = self->view.graph;
	const struct calls_node *node = &self->view.nodes.data[i];
	const struct callgraph_node *of = &graph->nodes.data[node->node];
	const u64 *known = map_find(&self->by_name, hash_text(HASH_START, of->name));
	const struct callgraph_node *was = known ? &self->base->nodes.data[*known - 1] : &nothing;
	double own = known ? calls_self(was, self->metric) : 0;
	double total = known ? calls_total(was, self->metric) : 0;

	put_object(json, NULL, FIELD("id", node->node), FIELD("fn", of->name),
		   NAME("module", of->module), FIELD("self", node->self),
		   FIELD("total", node->total),
		   field_if(!graph->from_stacks, FIELD("calls", of->calls)),
		   SOME("sev", node->severity), SOME("scc", node->cycle),
		   FIELD("hidden_in", node->hidden_in), FIELD("hidden_out", node->hidden_out),
		   field_when(self->base, field_if(known, OBJECT("base", FIELD("self", own),
								 FIELD("total", total)))),
		   field_when(self->base, OBJECT("delta", FIELD("self", node->self - own),
						 FIELD("total", node->total - total))));
}

static void put_edge(struct json *json, const void *list, u64 i)
{
	const struct graph_answer *self = list;
	const struct callgraph_edge *edge = &self->view.graph->edges.data[self->view.edges.data[i]];

	put_object(json, NULL, FIELD("from", edge->caller), FIELD("to", edge->callee),
		   FIELD("calls", edge->calls), FIELD("bytes", edge->bytes),
		   FIELD("value", self->metric == CALLS_BYTES ? edge->bytes : edge->calls));
}

static void reply_graph(struct call *call, const struct graph_answer *self)
{
	const struct calls_view *view = &self->view;
	u64 edges = result_top(view->edges.count, ROWS_MAX * 4);

	reply_object(call, view->found > view->nodes.count,
		     FLAG("from_stacks", view->graph->from_stacks),
		     field_if(view->graph->nodes.count, FIELD("center", view->center)),
		     FIELD("total", view->whole), FIELD("nodes_all", view->found),
		     LIST("nodes", view->nodes.count, put_node, self),
		     LIST("edges", edges, put_edge, self));
}

static bool base_read(struct call *call, struct graph_answer *self, struct err *err)
{
	if (!call_base_part(call) || !call_is_compared(call))
		return !call->answer->status;
	self->base = study_callgraph(call->base_part, err);
	if (!self->base)
		call_fail(call, err);
	for (u64 i = self->base ? self->base->nodes.count : 0; i-- > 0;)
		map_put(&self->by_name, hash_text(HASH_START, self->base->nodes.data[i].name),
			i + 1);
	return self->base;
}

void api_callgraph(struct call *call)
{
	struct graph_answer self = {0};
	struct calls_query query;
	struct err err = {0};
	const struct callgraph *graph = study_callgraph(call->trace, &err);

	if (!graph) {
		call_fail(call, &err);
		return;
	}
	if (calls_read(call, graph, &query) && base_read(call, &self, &err)) {
		self.metric = query.metric;
		if (calls_view_make(&self.view, call->trace, &query, &err) < 0)
			call_fail(call, &err);
		else
			reply_graph(call, &self);
	}
	map_release(&self.by_name);
	calls_view_release(&self.view);
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

		if ((callers ? edge->callee : edge->caller) == (u32)node &&
		    !vec_push(&self.rows, i))
			call->holder->failed = true;
	}
	reply_object(call, false, FIELD("fn", self.graph->nodes.data[node].name),
		     LIST("rows", self.rows.count, put_neighbour, &self));
	vec_release(&self.rows);
}

void api_callers(struct call *call) { reply_edges(call, true); }
void api_callees(struct call *call) { reply_edges(call, false); }
