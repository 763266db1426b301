/* SPDX-License-Identifier: MIT
 * Fuzz entry of queries. A text that is read has a canonical form which is read as the same, and a graph which becomes
 * that form again. An input that begins with { is a graph; what comes of it must be a query. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *printed(const struct query *query)
{
	struct strbuf text = {0};

	query_print(query, &text);
	return strbuf_take(&text);
}

static char *graph_text(const char *json, size_t length, struct query_error *error)
{
	struct arena arena = {0};
	struct err err = {0};
	const struct json_node *graph = json_read(json, length, &arena, &err);
	char *text = graph ? query_from_graph(graph, error) : NULL;

	arena_release(&arena);
	return text;
}

static char *written(const struct query *query)
{
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json json = {.out = stream};

	if (!stream || !query_write_graph(query, &json, NULL))
		abort();
	fclose(stream);
	return out;
}

/* Without the comments that tell where boxes are. */
static void cut_positions(char *text)
{
	char *comment = strstr(text, "\n#@");

	if (comment)
		*comment = 0;
}

static bool is_utf8(const char *text)
{
	while (*text) {
		u32 length = utf8_length(text);

		if (!length)
			return false;
		text += length;
	}
	return true;
}

static void check_text(const char *text)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error), *again;
	char *canonical, *second, *json, *back;
	struct graph graph = {0};

	if (!query) {
		if (!error.code || !error.message[0] || error.at > strlen(text))
			abort();
		return;
	}
	canonical = printed(query);
	again = query_parse(canonical, &error);
	if (!again)
		abort();
	second = printed(again);
	if (strcmp(canonical, second) != 0)
		abort();
	/* JSON holds UTF-8 only, graphs 200 boxes, and arguments are lines of bounded length */
	if (is_utf8(text) && strlen(canonical) < 4000 && graph_of_query(&graph, again) &&
	    graph.boxes.count <= GRAPH_BOXES_MAX) {
		json = written(again);
		back = graph_text(json, strlen(json), &error);
		if (!back)
			abort();
		cut_positions(back);
		if (strcmp(back, canonical) != 0)
			abort();
		free(json);
		free(back);
	}
	graph_release(&graph);
	query_free(query);
	query_free(again);
	free(canonical);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query_error error = {0};
	char *text = malloc(size + 1), *made;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (size && data[0] == '{') {
		made = graph_text(text, size, &error);
		if (made)
			check_text(made);
		free(made);
	} else {
		check_text(text);
	}
	free(text);
	return 0;
}
