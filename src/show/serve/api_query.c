/* SPDX-License-Identifier: MIT
 * Queries and filter graphs over HTTP: checking, text to graph and back, the catalogue of boxes,
 * and the user's own, which are kept as text. Runs on threads of the server. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/render/render.h"
#include "study/query/graph.h"
#include "study/query/query.h"
#include "show/serve/reply.h"
#include "show/serve/graph_store.h"

/* A text of the body, such as {"text": …}. */
static const char *body_text(struct call *call, const struct json_node *root, const char *name)
{
	const char *text = json_text_of(json_member(root, name));

	if (!text)
		answer_refuse(call->answer, 400, "the body needs a text '%s'", name);
	return text;
}

/* ---- check ---- */

static void put_error(struct json *json, const struct query_error *error)
{
	put_object(json, NULL, FIELD("at", error->at), FIELD("len", error->length),
		   FIELD("message", error->message), NAME("hint", error->hint));
}

/* Of the trace that the parameter names, or else of the first, as far as it is loaded. */
static void put_cost(struct call *call, const struct query *query)
{
	const char *id = call_text(call, "trace");
	struct study *trace = NULL;
	struct json *json = &call->json;
	u32 passes = query ? query_passes(query) : 0, slot = 0;

	if (!id || call_trace_slot(call, id, &slot))
		trace = call_trace(call, slot);
	if (!query || !trace || study_progress(trace).state != STUDY_READY) {
		json_null(json, "cost_est");
		return;
	}
	put_object(json, "cost_est", FIELD("passes", passes),
		   FIELD("chunks", passes * trace->all.chunks));
}

static void reply_check(struct call *call, const struct query *query,
			const struct query_error *error)
{
	struct strbuf canonical = {0};
	struct json *json = &call->json;

	if (query)
		query_print(query, &canonical);
	if (reply_begin(call, false)) {
		json_open_flat(json, "data", '{');
		put_fields(json, FLAG("ok", query != NULL),
			   FIELD("canonical", query ? strbuf_text(&canonical) : NULL));
		json_open_flat(json, "errors", '[');
		if (!query)
			put_error(json, error);
		json_close(json, ']');
		put_cost(call, query);
		json_close(json, '}');
		reply_end(call);
	}
	strbuf_release(&canonical);
}

void api_query_check(struct call *call)
{
	struct query_error error = {0};
	struct arena arena = {0};
	const struct json_node *root;
	const char *text = NULL;

	if (call_body(call, &arena, &root))
		text = body_text(call, root, "text");
	if (text) {
		struct query *query = query_parse(text, &error);

		if (query || error.code == ERR_USAGE)
			reply_check(call, query, &error);
		else
			call_fail_query(call, &error);
		if (query)
			query_free(query);
	}
	arena_release(&arena);
}

/* ---- graphs ---- */

/* {"text", "graph"} of a text that was checked. */
static void put_query(struct call *call, const char *name, const char *text,
		      const struct query *query)
{
	json_open_flat(&call->json, "data", '{');
	if (name)
		json_text(&call->json, "name", name);
	json_text(&call->json, "text", text);
	query_write_graph(query, &call->json, "graph");
	json_close(&call->json, '}');
}

static void reply_query(struct call *call, const char *name, const char *text)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);

	if (!query) {
		call_fail_query(call, &error);
		return;
	}
	if (reply_begin(call, false)) {
		put_query(call, name, text, query);
		reply_end(call);
	}
	query_free(query);
}

void api_query_graph(struct call *call)
{
	struct arena arena = {0};
	const struct json_node *root;
	const char *text = NULL;

	if (call_body(call, &arena, &root))
		text = body_text(call, root, "text");
	if (text)
		reply_query(call, NULL, text);
	arena_release(&arena);
}

/* The text of {"graph": …}; NULL if that is answered with an error. */
static char *compile(struct call *call, const struct json_node *root)
{
	const struct json_node *graph = json_member(root, "graph");
	struct query_error error = {0};
	char *text;

	if (!graph) {
		answer_refuse(call->answer, 400, "the body needs a 'graph'");
		return NULL;
	}
	text = query_from_graph(graph, &error);
	if (!text)
		call_fail_query(call, &error);
	return text;
}

void api_query_compile(struct call *call)
{
	struct arena arena = {0};
	const struct json_node *root;
	char *text = NULL;

	if (call_body(call, &arena, &root))
		text = compile(call, root);
	if (text)
		reply_object(call, FIELD("text", text));
	free(text);
	arena_release(&arena);
}

void api_query_boxes(struct call *call)
{
	struct result *boxes = query_boxes_result(), *fields = query_fields_result();

	if (!boxes || !fields || result_failed(boxes) || result_failed(fields)) {
		answer_refuse(call->answer, 500, "out of memory");
	} else if (reply_begin(call, false)) {
		json_open_flat(&call->json, "data", '{');
		render_json_value(&call->json, "boxes", boxes);
		render_json_value(&call->json, "fields", fields);
		json_close(&call->json, '}');
		reply_end(call);
	}
	result_free(boxes);
	result_free(fields);
}

/* ---- running ---- */

enum { ENTRIES_MAX = 500 };

/* What is left at the end of the whole pipe, a page of it. */
void api_entries(struct call *call)
{
	const char *text = call_text(call, "q");
	struct query_options options = {.window = call->scope.window, .rows = 100};
	struct query_error error = {0};
	struct result *result = NULL;
	struct err err = {0};

	if (!call_number(call, "offset", 0, UINT32_MAX, &options.skip) ||
	    !call_number(call, "limit", 1, ENTRIES_MAX, &options.rows) ||
	    !call_bool(call, "stacks", &options.stacks))
		return;
	if (query_run(call->trace->engine, text ? text : "all", &options, &result, &error) < 0)
		call_fail_query(call, &error);
	else
		reply_result(call, result, &err);
}

/* How many pass each box, in the order of the boxes of the graph. */
static void reply_counts(struct call *call, const char *text)
{
	struct query_count counts[GRAPH_BOXES_MAX];
	struct query_error error = {0};
	u32 count = 0;

	if (query_counts(call->trace->engine, text, NULL, counts, GRAPH_BOXES_MAX, &count, &error) <
	    0) {
		call_fail_query(call, &error);
		return;
	}
	if (!reply_begin(call, count > GRAPH_BOXES_MAX))
		return;
	json_open_flat(&call->json, "data", '[');
	for (u32 i = 0; i < count && i < GRAPH_BOXES_MAX; i++)
		put_object(&call->json, NULL, FIELD("entries", counts[i].entries),
			   FIELD("chunks", counts[i].chunks), FIELD("bytes", counts[i].bytes));
	json_close(&call->json, ']');
	reply_end(call);
}

/* The query of the body, which is a text or a graph. */
static void with_query(struct call *call, void (*use)(struct call *call, const char *text))
{
	struct arena arena = {0};
	const struct json_node *root;
	char *compiled = NULL;
	const char *text = NULL;

	if (call_body(call, &arena, &root)) {
		text = json_text_of(json_member(root, "text"));
		if (!text)
			text = compiled = compile(call, root);
	}
	if (text)
		use(call, text);
	free(compiled);
	arena_release(&arena);
}

void api_query_counts(struct call *call) { with_query(call, reply_counts); }

/* ---- the user's own ---- */

static void fail_store(struct call *call, const struct err *err)
{
	answer_refuse(call->answer,
		      err->code == ERR_USAGE   ? 400
		      : err->code == ERR_INPUT ? 404
					       : 500,
		      "%s", err->text);
}

void api_graphs(struct call *call)
{
	struct graph_names names = {0};
	struct err err = {0};

	if (graph_store_list(call->api->graphs_folder, &names, &err) < 0) {
		fail_store(call, &err);
	} else if (reply_begin(call, names.cut)) {
		json_open_flat(&call->json, "data", '[');
		for (u64 i = 0; i < names.names.count; i++)
			json_text(&call->json, NULL, names.names.data[i]);
		json_close(&call->json, ']');
		reply_end(call);
	}
	graph_names_release(&names);
}

void api_graph_get(struct call *call)
{
	const char *name = call->match->segments[0];
	struct strbuf text = {0};
	struct err err = {0};

	if (graph_store_read(call->api->graphs_folder, name, &text, &err) < 0)
		fail_store(call, &err);
	else
		reply_query(call, name, strbuf_text(&text));
	strbuf_release(&text);
}

/* Only what can be read again is kept. */
static void graph_keep(struct call *call, const char *text)
{
	const char *name = call->match->segments[0];
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);
	struct err err = {0};

	if (!query) {
		call_fail_query(call, &error);
		return;
	}
	query_free(query);
	if (graph_store_write(call->api->graphs_folder, name, text, &err) < 0)
		fail_store(call, &err);
	else
		reply_query(call, name, text);
}

void api_graph_put(struct call *call) { with_query(call, graph_keep); }

void api_graph_delete(struct call *call)
{
	struct err err = {0};

	if (graph_store_remove(call->api->graphs_folder, call->match->segments[0], &err) < 0) {
		fail_store(call, &err);
	} else if (reply_begin(call, false)) {
		json_bool(&call->json, "data", true);
		reply_end(call);
	}
}
