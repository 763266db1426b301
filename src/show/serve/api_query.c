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
#include "show/serve/api.h"
#include "show/serve/graph_store.h"

/* The text of {"text": …}; NULL if a 400 was answered. */
static const char *body_text(struct call *call)
{
	const struct json_node *root = call_body(call);
	const char *text = root ? json_text_of(json_member(root, "text")) : NULL;

	if (root && !text)
		answer_refuse(call->answer, 400, "the body needs a text 'text'");
	return text;
}

/* ---- check ---- */

static void put_error(struct json *json, const void *list, u64 i)
{
	const struct query_error *error = list;

	(void)i;
	put_object(json, NULL, FIELD("at", error->at), FIELD("len", error->length),
		   FIELD("message", error->message), NAME("hint", error->hint));
}

/* Of the trace that the parameter names, or else of the first, as far as it is loaded. */
static struct named_value cost_field(struct call *call, const struct query *query)
{
	const char *id = call_text(call, "trace");
	struct study *trace = NULL;
	u32 passes = query ? query_passes(query) : 0, slot = 0;
	bool known;

	if (!id || call_trace_slot(call, id, &slot))
		trace = call_trace(call, slot);
	known = query && trace && study_progress(trace).state == STUDY_READY;
	return field_if(known, KEPT("cost_est", call, FIELD("passes", passes),
				    FIELD("chunks", known ? passes * trace->all.chunks : 0)));
}

static void reply_check(struct call *call, const struct query *query,
			const struct query_error *error)
{
	struct strbuf canonical = {0};

	if (query)
		query_print(query, &canonical);
	reply_object(call, false, FLAG("ok", query != NULL),
		     FIELD("canonical", query ? strbuf_text(&canonical) : NULL),
		     LIST("errors", query ? 0 : 1, put_error, error), cost_field(call, query));
	strbuf_release(&canonical);
}

void api_query_check(struct call *call)
{
	struct query_error error = {0};
	const char *text = body_text(call);
	struct query *query = text ? query_parse(text, &error) : NULL;

	if (!text)
		return;
	if (query || error.code == ERR_USAGE)
		reply_check(call, query, &error);
	else
		call_fail_query(call, &error);
	if (query)
		query_free(query);
}

/* ---- graphs ---- */

static void put_graph(struct json *json, const char *name, const void *query)
{
	query_write_graph(query, json, name);
}

/* {"text", "graph"} of a text. */
static void reply_query(struct call *call, const char *name, const char *text)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);

	if (!query) {
		call_fail_query(call, &error);
		return;
	}
	reply_object(call, false, field_when(name, FIELD("name", name)), FIELD("text", text),
		     field_written("graph", put_graph, query));
	query_free(query);
}

void api_query_graph(struct call *call)
{
	const char *text = body_text(call);

	if (text)
		reply_query(call, NULL, text);
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
	const struct json_node *root = call_body(call);
	char *text = root ? compile(call, root) : NULL;

	if (text)
		reply_object(call, false, FIELD("text", text));
	free(text);
}

void api_query_boxes(struct call *call)
{
	struct result *boxes = query_boxes_result(), *fields = query_fields_result();

	if (!boxes || !fields || result_failed(boxes) || result_failed(fields))
		answer_refuse(call->answer, 500, "out of memory");
	else
		reply_object(call, false, RESULT("boxes", boxes), RESULT("fields", fields));
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

static void put_count(struct json *json, const void *counts, u64 i)
{
	const struct query_count *row = &((const struct query_count *)counts)[i];

	put_object(json, NULL, FIELD("entries", row->entries), FIELD("chunks", row->chunks),
		   FIELD("bytes", row->bytes));
}

/* How many pass each box, in the order of the boxes of the graph. */
static void reply_counts(struct call *call, const char *text)
{
	struct query_counts counts;
	struct query_error error = {0};

	if (query_count(call->trace->engine, text, &counts, &error) < 0) {
		call_fail_query(call, &error);
		return;
	}
	reply_list(call, false, counts.count, put_count, counts.boxes);
}

/* The query of the body, which is a text or a graph. */
static void with_query(struct call *call, void (*use)(struct call *call, const char *text))
{
	const struct json_node *root = call_body(call);
	const char *text = root ? json_text_of(json_member(root, "text")) : NULL;
	char *compiled = root && !text ? compile(call, root) : NULL;

	if (text || compiled)
		use(call, text ? text : compiled);
	free(compiled);
}

void api_query_counts(struct call *call) { with_query(call, reply_counts); }

/* ---- the user's own ---- */

void api_graphs(struct call *call)
{
	struct graph_names names = {0};
	struct err err = {0};

	if (graph_store_list(call->api->graphs_folder, &names, &err) < 0)
		call_fail(call, &err);
	else
		reply_list(call, names.cut, names.names.count, put_text_item, names.names.data);
	graph_names_release(&names);
}

void api_graph_get(struct call *call)
{
	const char *name = call->match->segments[0];
	struct strbuf text = {0};
	struct err err = {0};

	if (graph_store_read(call->api->graphs_folder, name, &text, &err) < 0)
		call_fail(call, &err);
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
		call_fail(call, &err);
	else
		reply_query(call, name, text);
}

void api_graph_put(struct call *call) { with_query(call, graph_keep); }

void api_graph_delete(struct call *call)
{
	struct err err = {0};

	if (graph_store_remove(call->api->graphs_folder, call->match->segments[0], &err) < 0)
		call_fail(call, &err);
	else
		reply_fields(call, false, MEMBERS(FLAG("data", true)));
}
