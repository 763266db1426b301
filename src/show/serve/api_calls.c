/* SPDX-License-Identifier: MIT
 * The call graph over HTTP. Runs on threads of the server. */
#include <string.h>

#include "show/serve/reply.h"
#include "study/layout/calls.h"

enum { ROWS_MAX = 500 };

static bool metric_read(struct call *call, enum calls_metric *metric)
{
	const char *word = call_text(call, "metric");

	*metric = word && strcmp(word, "bytes") == 0 ? CALLS_BYTES : CALLS_ALLOCS;
	return !word || *metric == CALLS_BYTES || strcmp(word, "allocs") == 0 ||
	       call_bad(call, "metric", "allocs or bytes");
}

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
	u64 up = 2, down = 2;

	*query = (struct calls_query){.min = 0.005};
	if (!metric_read(call, &query->metric) ||
	    !function_read(call, graph, "center", &query->center) ||
	    !call_number(call, "up", 0, 100, &up) || !call_number(call, "down", 0, 100, &down))
		return false;
	query->up = (u32)up;
	query->down = (u32)down;
	return parameter_real(call->request, "min", 0, 1, &query->min) ||
	       call_bad(call, "min", "a share from 0 to 1");
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

static void put_node_base(struct json *json, const struct graph_base *base, const char *name,
			  const struct calls_node *node, enum calls_metric metric)
{
	const u64 *known = map_find(&base->by_name, hash_text(HASH_START, name));
	const struct callgraph_node *was = known ? &base->graph->nodes.data[*known - 1] : NULL;

	double self = was ? calls_self(was, metric) : 0, total = was ? calls_total(was, metric) : 0;

	if (was)
		put_object(json, "base", FIELD("self", self), FIELD("total", total));
	else
		json_null(json, "base");
	put_object(json, "delta", FIELD("self", node->self - self),
		   FIELD("total", node->total - total));
}

static void put_node(struct json *json, const struct callgraph *graph,
		     const struct calls_node *node, const struct graph_base *base,
		     enum calls_metric metric)
{
	const struct callgraph_node *of = &graph->nodes.data[node->node];

	json_open_flat(json, NULL, '{');
	put_fields(json, FIELD("id", node->node), FIELD("fn", of->name), NAME("module", of->module),
		   FIELD("self", node->self), FIELD("total", node->total),
		   field_if(!graph->from_stacks, FIELD("calls", of->calls)),
		   SOME("sev", node->severity), SOME("scc", node->cycle),
		   FIELD("hidden_in", node->hidden_in), FIELD("hidden_out", node->hidden_out));
	if (base->given)
		put_node_base(json, base, of->name, node, metric);
	json_close(json, '}');
}

static void put_edge(struct json *json, const struct callgraph_edge *edge, enum calls_metric metric)
{
	put_object(json, NULL, FIELD("from", edge->caller), FIELD("to", edge->callee),
		   FIELD("calls", edge->calls), FIELD("bytes", edge->bytes),
		   FIELD("value", metric == CALLS_BYTES ? edge->bytes : edge->calls));
}

static void put_graph(struct call *call, const struct calls_view *view,
		      const struct graph_base *base, enum calls_metric metric)
{
	struct json *json = &call->json;

	json_open_flat(json, "data", '{');
	put_fields(json, FLAG("from_stacks", view->graph->from_stacks),
		   field_if(view->graph->nodes.count, FIELD("center", view->center)),
		   FIELD("total", view->whole), FIELD("nodes_all", view->found));
	json_open_flat(json, "nodes", '[');
	for (u64 i = 0; i < view->nodes.count; i++)
		put_node(json, view->graph, &view->nodes.data[i], base, metric);
	json_close(json, ']');
	json_open_flat(json, "edges", '[');
	for (u64 i = 0; i < view->edges.count && i < ROWS_MAX * 4; i++)
		put_edge(json, &view->graph->edges.data[view->edges.data[i]], metric);
	json_close(json, ']');
	json_close(json, '}');
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
		if (calls_view_make(&view, call->trace, &query, &err) < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, view.found > view.nodes.count)) {
			put_graph(call, &view, &base, query.metric);
			reply_end(call);
		}
	}
	graph_base_release(call, &base);
	calls_view_release(&view);
}

/* Edges of one function, to callers or to what it calls. */
static void reply_edges(struct call *call, bool callers)
{
	struct err err = {0};
	const struct callgraph *graph = study_callgraph(call->trace, &err);
	u64 rows = 0;
	i64 node;

	if (!graph) {
		call_fail(call, &err);
		return;
	}
	if (!call_text(call, "fn")) {
		call_bad(call, "fn", "the name or number of a function");
		return;
	}
	if (!function_read(call, graph, "fn", &node) || !reply_begin(call, false))
		return;
	json_open_flat(&call->json, "data", '{');
	json_text(&call->json, "fn", graph->nodes.data[node].name);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = 0; i < graph->edges.count && rows < ROWS_MAX; i++) {
		const struct callgraph_edge *edge = &graph->edges.data[i];
		u32 other = callers ? edge->caller : edge->callee;

		if ((callers ? edge->callee : edge->caller) != (u32)node)
			continue;
		rows++;
		put_object(&call->json, NULL, FIELD("id", other),
			   FIELD("fn", graph->nodes.data[other].name), FIELD("calls", edge->calls),
			   FIELD("bytes", edge->bytes));
	}
	json_close(&call->json, ']');
	json_close(&call->json, '}');
	reply_end(call);
}

void api_callers(struct call *call) { reply_edges(call, true); }
void api_callees(struct call *call) { reply_edges(call, false); }
