/* SPDX-License-Identifier: MIT
 * Fuzz entry of queries. A text that is read has a canonical form which is read as the same, and a graph which becomes
 * that form again. An input that begins with { is a graph; what comes of it must be a query. Whatever is a query is
 * run on a small heap, twice: the second answer, which is kept, must be the first. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/text.h"
#include "study/query/engine.h"
#include "study/query/graph.h"

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

/* ---- a heap ---- */

static struct query_engine *engine;

static void tell(struct stream_sink *sink, const struct event *event)
{
	struct err err = {0};

	if (sink->events(sink->self, event, 1, &err) < 0)
		abort();
}

static void make_heap(void)
{
	struct model *model = model_new();
	struct stream_sink sink = model_sink(model);
	struct stream_image image = {.start_ticks = 1000, .program = "/bin/p", .command = "p"};
	struct stream_module module = {.base = 0x1000,
				       .start = 0x1000,
				       .end = 0x9000,
				       .path = "/bin/p"};
	struct stream_clock clock = {.ticks = 90000, .ns = 200000};
	struct stream_image_end end = {.ticks = 90000, .how = IMAGE_EXITED};
	struct query_trace traces[2] = {{.model = model, .name = "a"},
					{.model = model, .name = "b"}};
	struct err err = {0};

	sink.image(sink.self, &image, &err);
	sink.module(sink.self, &module, &err);
	for (u32 i = 1; i < 5; i++) {
		struct stream_context context = {.id = i, .parent = i / 2, .pc = 0x1000 + 64 * i};

		sink.contexts(sink.self, &context, 1, &err);
	}
	for (u64 i = 0; i < 300; i++) {
		struct event event = {.ticks = 1000 + 50 * i,
				      .kind = i % 5 ? HW_MALLOC : HW_NEW,
				      .context = (u32)(1 + i % 4),
				      .thread = i % 3,
				      .size = i * i % 700,
				      .chunk = i,
				      .address = 0x10000 + 1024 * i};

		tell(&sink, &event);
		event.kind = HW_FREE;
		event.ticks += 20;
		if (i % 3)
			tell(&sink, &event);
	}
	sink.clock(sink.self, &clock, &err);
	sink.image_end(sink.self, &end, &err);
	engine = query_engine_new(traces, 2);
	if (!engine)
		abort();
}

/* Runs it; the number of entries that are left, or the code of an error. */
static u64 answer(const char *text)
{
	struct query_options options = {.rows = 20, .stacks = true};
	struct query_error error = {0};
	struct result *result = NULL;
	u64 rows;

	if (query_run(engine, text, &options, &result, &error) < 0) {
		if (error.at > strlen(text) || !error.message[0])
			abort();
		return (u64)error.code;
	}
	rows = result_field(result, "entries")->number;
	result_free(result);
	return rows;
}

static void check_answer(const char *text)
{
	struct selection selection = {0};
	struct query_error error = {0};
	u64 first;

	if (!engine)
		make_heap();
	first = answer(text);
	if (answer(text) != first)
		abort();
	query_select(engine, text, NULL, &selection, &error);
	selection_release(&selection);
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
	check_answer(text);
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
