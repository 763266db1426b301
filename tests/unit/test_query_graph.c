/* SPDX-License-Identifier: MIT
 * Filter graphs: text → graph → text, graphs that are wrong, and random ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/jsontree.h"
#include "lib/test.h"
#include "study/query/engine.h"
#include "study/query/graph.h"
#include "unit/test_analysis.h"

/* The text of a graph in JSON, to be freed; NULL and error. */
static char *text_of(const char *json, struct query_error *error)
{
	struct arena arena = {0};
	struct err err = {0};
	const struct json_node *graph = json_read(json, strlen(json), &arena, &err);
	char *text;

	if (!graph)
		FAIL("this is no JSON: %s: %s", err.text, json);
	text = query_from_graph(graph, error);
	arena_release(&arena);
	return text;
}

static char *graph_of(const char *text)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json json = {.out = stream};

	if (!query || !stream)
		FAIL("%s: column %u: %s", text, error.at + 1, error.message);
	CHECK(query_write_graph(query, &json, NULL));
	fclose(stream);
	query_free(query);
	return out;
}

TEST(round_trip, "text becomes a graph and the same text again")
{
	static const char *const texts[] = {
		"all",
		"at peak | where size >= 1KiB and not freed",
		"all | color #3b6fb6 if type ~ /^std::\\/\"/i | color alternate | color by type",
		"all | join type, fn | sort size desc | limit 10",
		"all | unify until 1MiB | hide \"a\\\"b\" | hide /x y/ | show flame",
		"all | agg count(), sum(size), p99(life) | sort p99(life) desc",
		"diff(trace \"base\", union(all | limit 3, at 2s))",
		"let score s = size * 2;\nlet category c = type ~ \"x\";\nall | where c and s > 3",
		"let x = all | limit 1;\nx",
		"let x = all | limit 1;\nlet y = x;\nunion(y, x | where freed)",
		"let a = all;\nlet unused = a | limit 3;\na | where freed",
		"all | limit 1\n#@ box first 10 20.5\n#@ box b2 -3 4 the second box",
	};

	for (u32 i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct query_error error = {0};
		char *graph = graph_of(texts[i]), *text = text_of(graph, &error);

		if (!text)
			FAIL("%s: %s: %s", texts[i], error.message, graph);
		CHECK_STR(text, texts[i]);
		free(graph);
		free(text);
	}
}

TEST(readers, "a box with two readers becomes a let, by its id if that can be a name")
{
	struct query_error error = {0};
	char *text = text_of(
		"{\"boxes\": [{\"id\": \"n-1\", \"kind\": \"all\"},"
		"{\"id\": \"big\", \"kind\": \"where\", \"args\": {\"expr\": \"size > 1KiB\"}},"
		"{\"id\": \"u\", \"kind\": \"union\"}],"
		"\"edges\": [{\"from\": \"n-1\", \"to\": \"big\"},"
		"{\"from\": \"n-1\", \"to\": \"u\", \"in\": 0},"
		"{\"from\": \"big\", \"to\": \"u\", \"in\": 1}]}",
		&error);

	if (!text)
		FAIL("%s", error.message);
	CHECK_STR(text, "let v1 = all;\nunion(v1, v1 | where size > 1KiB)\n"
			"#@ box n-1 0 0\n#@ box big 0 0\n#@ box u 0 0");
	free(text);
}

#define BOX(id, kind, args) "{\"id\": \"" id "\", \"kind\": \"" kind "\", \"args\": {" args "}}"
#define EDGE(from, to, in) "{\"from\": \"" from "\", \"to\": \"" to "\", \"in\": " in "}"
#define GRAPH(boxes, edges) "{\"boxes\": [" boxes "], \"edges\": [" edges "]}"

TEST(refused, "a graph that is none is refused, at its box")
{
	static const struct {
		const char *json, *message, *box;
	} rows[] = {
		{"{}", "a graph needs a list of boxes", ""},
		{"[]", "a graph needs a list of boxes", ""},
		{GRAPH("{\"kind\": \"all\"}", ""), "the id of a box must consist of", ""},
		{GRAPH(BOX("a b", "all", ""), ""), "the id of a box must consist of", ""},
		{GRAPH(BOX("a", "al", ""), ""), "unknown kind of box 'al'", "a"},
		{GRAPH(BOX("a", "all", "") "," BOX("a", "all", ""), ""),
		 "two boxes have the id 'a'", "a"},
		{GRAPH(BOX("a", "limit", "\"count\": 3"), ""),
		 "an input of this 'limit' box is not connected", "a"},
		{GRAPH(BOX("a", "all", ""), EDGE("a", "b", "0")), "an edge begins or ends at an unknown box",
		 ""},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "limit", "\"count\": 3"),
		       EDGE("a", "b", "1")),
		 "a 'limit' box has no such input", "b"},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "limit", "\"count\": 3"),
		       EDGE("a", "b", "0") "," EDGE("a", "b", "0")),
		 "two edges lead to the same input", "b"},
		{GRAPH(BOX("a", "limit", "\"count\": 3") "," BOX("b", "limit", "\"count\": 3"),
		       EDGE("a", "b", "0") "," EDGE("b", "a", "0")),
		 "the edges form a cycle", "a"},
		{GRAPH(BOX("a", "limit", "\"count\": 3"), EDGE("a", "a", "0")),
		 "the edges form a cycle", "a"},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "all", ""), ""),
		 "no box reads this one, and it is not the output", "b"},
		{GRAPH(BOX("a", "score", "\"name\": \"s\", \"expr\": \"size\""), ""),
		 "the graph has no output", ""},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "where", ""), EDGE("a", "b", "0")),
		 "the argument 'expr' is missing", "b"},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "where", "\"expr\": \"siz > 3\""),
		       EDGE("a", "b", "0")),
		 "unknown field 'siz'", "b"},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "where", "\"expr\": \"freed | limit 3\""),
		       EDGE("a", "b", "0")),
		 "an argument contains more than one stage", ""},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "where", "\"expr\": \"freed # x\""),
		       EDGE("a", "b", "0")),
		 NULL, ""},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "where", "\"expr\": \"freed\\n| limit 3\""),
		       EDGE("a", "b", "0")),
		 "not a line of text", "b"},
		{GRAPH(BOX("a", "all", "") "," BOX("b", "limit", "\"count\": -1"),
		       EDGE("a", "b", "0")),
		 "must be a whole number", "b"},
		{GRAPH(BOX("a", "score", "\"name\": \"size\", \"expr\": \"1\"") "," BOX("b", "all",
											""),
		       ""),
		 "'size' is not a valid name", "a"},
		{GRAPH(BOX("a", "at", "\"time\": \"noon\""), ""),
		 "expected a time, 'peak' or 'end'", "a"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct query_error error = {0};
		char *text = text_of(rows[i].json, &error);

		if (!rows[i].message) {
			CHECK(text != NULL);
		} else if (!CHECK(!text) ||
			   !CHECK(strstr(error.message, rows[i].message) != NULL)) {
			CHECK_STR(error.message, rows[i].message);
		} else if (*rows[i].box) {
			CHECK_STR(error.box, rows[i].box);
		}
		free(text);
	}
}

/* ---- random graphs ---- */

static u64 random_state;

static u32 random_below(u32 count)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((random_state >> 33) % count);
}

static const char *const conditions[] = {
	"size >= 32",         "size in 16..64 or freed", "not kept",
	"fn == \\\"beta\\\"", "stack ~ \\\"ALPHA\\\"",   "thread != 1",
	"life < 100ns",       "alloc in 20ns..300ns",    "known(free) and size * 2 > life",
	"file ~ /prog/i"};

/* One stage over box `input`, or a set of two, as JSON. */
static void add_random_box(struct strbuf *boxes, struct strbuf *edges, u32 number)
{
	u32 kind = number == 0 ? 0 : random_below(number > 1 ? 8 : 7);
	const char *comma = number ? ", " : "";

	strbuf_addf(boxes, "%s{\"id\": \"n%u\", \"x\": %u, \"y\": %u, \"label\": \"%s\", ", comma,
		    number, random_below(500), random_below(500), random_below(3) ? "" : "a label");
	switch (kind) {
	case 0:
		strbuf_add(boxes, random_below(2)
					  ? "\"kind\": \"all\", \"args\": {}}"
					  : "\"kind\": \"at\", \"args\": {\"time\": \"150ns\"}}");
		return;
	case 1:
	case 2:
	case 3:
		strbuf_addf(boxes, "\"kind\": \"where\", \"args\": {\"expr\": \"%s\"}}",
			    conditions[random_below(sizeof conditions / sizeof *conditions)]);
		break;
	case 4:
		strbuf_addf(boxes, "\"kind\": \"limit\", \"args\": {\"count\": %u}}",
			    random_below(20));
		break;
	case 5:
		strbuf_addf(boxes,
			    "\"kind\": \"sort\", \"args\": {\"field\": \"%s\", \"desc\": %s}}",
			    random_below(2) ? "size" : "life", random_below(2) ? "true" : "false");
		break;
	case 6:
		strbuf_addf(boxes,
			    "\"kind\": \"color\", \"args\": {\"color\": \"#00%02x00\", \"if\": "
			    "\"%s\"}}",
			    random_below(256),
			    conditions[random_below(sizeof conditions / sizeof *conditions)]);
		break;
	default:
		strbuf_addf(boxes, "\"kind\": \"%s\"}",
			    (const char *const[]){"union", "diff", "common"}[random_below(3)]);
		strbuf_addf(edges, "%s{\"from\": \"n%u\", \"to\": \"n%u\", \"in\": 1}",
			    edges->count ? ", " : "", random_below(number), number);
	}
	strbuf_addf(edges, "%s{\"from\": \"n%u\", \"out\": 0, \"to\": \"n%u\", \"in\": 0}",
		    edges->count ? ", " : "", random_below(number), number);
}

/* Boxes that nobody reads get names, all but the last. */
static char *random_graph(u32 count)
{
	struct strbuf boxes = {0}, edges = {0}, all = {0};

	for (u32 i = 0; i < count; i++)
		add_random_box(&boxes, &edges, i);
	strbuf_addf(&all, "{\"boxes\": [%s], \"edges\": [%s], \"output\": \"n%u\"}",
		    strbuf_text(&boxes), strbuf_text(&edges), count - 1);
	strbuf_release(&boxes);
	strbuf_release(&edges);
	return strbuf_take(&all);
}

/* Three functions, two threads, some chunks kept. */
static struct feed fed_model(void)
{
	struct feed feed = feed_new();
	u64 chunks[200];

	tell_functions(&feed, 3);
	tell_thread(&feed, 0);
	tell_thread(&feed, 1);
	for (u32 i = 0; i < 200; i++) {
		feed.thread = i % 3 == 0;
		chunks[i] = tell_alloc(&feed, HW_MALLOC, 1 + i % 3, 8 * (1 + i % 17));
		if (i % 4 != 3 && i > 10)
			tell_free(&feed, HW_FREE, chunks[i - 10 + i % 4], 0);
	}
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

TEST(random, "random graphs become texts that are stable and select the same chunks")
{
	static const char *const names[] = {"alpha", "beta", "gamma"};
	struct symbol_frame frames[3];
	struct symbol_entry entries[3];
	struct symbol_table symbols = named_table(names, 3, frames, entries);
	struct feed feed = fed_model();
	struct query_trace trace = {.model = feed.model, .symbols = &symbols, .name = "t"};
	u32 tried = 0, chosen = 0;

	for (u32 seed = 1; seed <= 400; seed++) {
		struct query_error error = {0};
		char *json, *text, *graph, *again;
		struct selection first = {0}, second = {0};
		/* Each gets an engine of its own: what is kept must not help. */
		struct query_engine *one = query_engine_new(&trace, 1),
				    *two = query_engine_new(&trace, 1);

		random_state = seed * 7919;
		json = random_graph(1 + random_below(12));
		text = text_of(json, &error);
		if (text) {
			tried++;
			graph = graph_of(text);
			again = text_of(graph, &error);
			if (!again)
				FAIL("seed %u: %s: %s", seed, error.message, text);
			CHECK_STR(again, text);
			if (query_select(one, text, NULL, &first, &error) < 0 ||
			    query_select(two, again, NULL, &second, &error) < 0)
				FAIL("seed %u: %s: %s", seed, error.message, text);
			CHECK_EQ(first.chunks, second.chunks);
			if (first.words && second.words)
				CHECK(memcmp(first.words, second.words,
					     selection_words(first.count) * sizeof *first.words) ==
				      0);
			chosen += first.chunks > 0 && first.chunks < 200;
			free(graph);
			free(again);
		} else {
			/* the only reason: a box that nobody reads */
			CHECK(strstr(error.message, "no box reads this one") != NULL);
		}
		selection_release(&first);
		selection_release(&second);
		query_engine_free(one);
		query_engine_free(two);
		free(json);
		free(text);
	}
	CHECK(tried > 60);
	CHECK(chosen > 20);
	model_free(feed.model);
}
