/* SPDX-License-Identifier: MIT
 * The query engine against a naive reading of the same expressions, and stage by stage on a heap that is
 * made by hand. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "study/query/engine.h"
#include "study/query/entries.h"
#include "study/query/plan.h"
#include "study/query/query.h"
#include "unit/test_access.h"

/* ---- a heap with something of everything ---- */

enum { FUNCTIONS = 6, CHUNKS = 40000 };

static const char *const function_names[FUNCTIONS] = {"main",      "std::vector<int>::grow",
						      "parse",     "Parser::token",
						      "copy_text", "std::string::_M_create"};

struct heap {
	struct feed feed;
	struct symbol_frame frames[FUNCTIONS];
	struct symbol_entry entries[FUNCTIONS];
	struct symbol_table symbols;
	struct query_engine *engine;
};

static u64 random_state = 1;

static u32 random_below(u32 count)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((random_state >> 33) % count);
}

/* Contexts 1 … FUNCTIONS call each other: function i is called by i - 1; context FUNCTIONS + i calls i
 * from main. More than two pages of chunks, so that blocks and pages end somewhere. */
static void tell_heap(struct feed *feed, u32 chunks)
{
	VEC(u64) live = {0};

	tell_module(feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_module(feed, 1, LIBRARY_BASE, 0, "/usr/lib/libhelp.so.1");
	for (u32 i = 1; i <= FUNCTIONS; i++)
		tell_context(feed, i, i - 1, pc_of(PROGRAM_BASE, i));
	for (u32 i = 2; i <= FUNCTIONS; i++)
		tell_context(feed, FUNCTIONS + i - 1, 1, pc_of(PROGRAM_BASE, i));
	tell_context(feed, 2 * FUNCTIONS, 1, pc_of(LIBRARY_BASE, 3));
	for (u32 i = 0; i < 3; i++)
		tell_thread(feed, i);
	for (u32 i = 0; i < chunks; i++) {
		u64 chunk;

		feed->thread = random_below(3);
		chunk = tell_alloc(feed, random_below(2) ? HW_MALLOC : HW_NEW,
				   1 + random_below(2 * FUNCTIONS),
				   random_below(8) ? random_below(200) : random_below(100000));
		if (random_below(50) && !vec_push(&live, chunk))
			FAIL("out of memory");
		if (live.count > 300) {
			u32 at = random_below((u32)live.count);

			tell_event(feed, (struct event){.kind = HW_FREE,
							.context = 1 + random_below(FUNCTIONS),
							.chunk = live.data[at],
							.address = 0x1000 + 16 * live.data[at]});
			live.data[at] = live.data[--live.count];
		}
	}
	tell_clock(feed, feed->ticks + 5, 5000 + (feed->ticks - 995) * 3);
	tell_end(feed, IMAGE_EXITED);
	vec_release(&live);
}

static struct query_trace trace_of(struct heap *heap, const char *name)
{
	struct thresholds thresholds = THRESHOLDS_DEFAULT;

	return (struct query_trace){.model = heap->feed.model,
				    .symbols = &heap->symbols,
				    .name = name,
				    .thresholds = thresholds};
}

static struct heap *heap_new(u32 chunks)
{
	struct heap *heap = calloc(1, sizeof *heap);
	struct query_trace trace;

	heap->feed = feed_new();
	tell_heap(&heap->feed, chunks);
	heap->symbols = named_table(function_names, FUNCTIONS, heap->frames, heap->entries);
	trace = trace_of(heap, "/tmp/one.hwt");
	heap->engine = query_engine_new(&trace, 1);
	if (!heap->engine)
		FAIL("no engine");
	return heap;
}

static void heap_free(struct heap *heap)
{
	query_engine_free(heap->engine);
	model_free(heap->feed.model);
	free(heap);
}

static struct selection selected(struct heap *heap, const char *text,
				 const struct query_window *window)
{
	struct query_error error = {0};
	struct selection selection = {0};

	if (query_select(heap->engine, text, window, &selection, &error) < 0)
		FAIL("%s: column %u: %s", text, error.at + 1, error.message);
	return selection;
}

static u64 chunks_of(struct heap *heap, const char *text)
{
	struct selection selection = selected(heap, text, NULL);
	u64 chunks = selection.chunks;

	selection_release(&selection);
	return chunks;
}

/* The table of a query that is run. */
static struct result *rows_of(struct heap *heap, const char *text)
{
	struct query_options options = {0};
	struct query_error error = {0};
	struct result *result = NULL;

	if (query_run(heap->engine, text, &options, &result, &error) < 0)
		FAIL("%s: column %u: %s", text, error.at + 1, error.message);
	return result;
}

/* ---- the naive reading ---- */

struct naive {
	const struct model *model;
	const struct chunk_page *page;
	u32 at;
	u64 chunk;
};

static bool freed(const struct naive *self)
{
	return self->page->end[self->at] == CHUNK_FREED ||
	       self->page->end[self->at] == CHUNK_IMPLIED;
}

static const char *function_at(const struct model *model, u32 frame)
{
	const struct frame *place = context_table_frame(&model->contexts, (struct frame_id){frame});

	return place->module == 0 ? function_names[place->address / 16 - 1] : "";
}

static double naive_number(const struct naive *self, const struct expr *expr)
{
	const struct chunk_page *page = self->page;
	const struct tick_clock *clock = &self->model->clock;
	double a, b;

	switch (expr->kind) {
	case EXPR_NUMBER:
		return expr->number;
	case EXPR_FIELD:
		switch (expr->field) {
		case F_SIZE:
			return (double)page->size[self->at];
		case F_ALLOC:
			return (double)tick_clock_ns(clock, page->alloc_ticks[self->at]);
		case F_FREE:
			return freed(self)
				       ? (double)tick_clock_ns(clock, page->free_ticks[self->at])
				       : NAN;
		case F_LIFE:
			return floor(tick_clock_span_ns(
				clock, (double)((freed(self) ? page->free_ticks[self->at]
							     : self->model->last_ticks) -
						page->alloc_ticks[self->at])));
		case F_THREAD:
			return page->alloc_thread[self->at];
		case F_FREE_THREAD:
			return freed(self) ? page->free_thread[self->at] : NAN;
		case F_CHUNK:
			return (double)self->chunk;
		case F_ADDR:
			return (double)page->address[self->at];
		case F_POINT:
			return model_point_of(self->model, page->alloc_context[self->at]).index;
		default:
			FAIL("no such field in this test");
		}
	default:
		break;
	}
	a = naive_number(self, expr->args[0]);
	b = expr->count > 1 ? naive_number(self, expr->args[1]) : 0;
	switch (expr->kind) {
	case EXPR_ADD:
		return a + b;
	case EXPR_SUBTRACT:
		return a - b;
	case EXPR_MULTIPLY:
		return a * b;
	case EXPR_DIVIDE:
		return a / b;
	default:
		return -a;
	}
}

/* Texts are looked for in every frame of the stack. */
static bool naive_text(const struct naive *self, const struct expr *expr)
{
	const struct expr *field = expr->args[0], *text = expr->args[1];
	bool free_side = field->field == F_FREE_STACK, any = false;
	struct frame_id frame;
	struct err err = {0};

	if (free_side && !freed(self))
		return false;
	model_place(self->model,
		    free_side ? self->page->free_context[self->at]
			      : self->page->alloc_context[self->at],
		    &frame, &err);
	for (u32 at = frame.index; at; at = self->model->contexts.frames.data[at].parent) {
		const char *name = function_at(self->model, at);

		any |= *name && (expr->kind == EXPR_MATCH ? strcasestr(name, text->text) != NULL
							  : strcmp(name, text->text) == 0);
	}
	return any != (expr->kind == EXPR_NE);
}

static bool naive_holds(const struct naive *self, const struct expr *expr)
{
	double a, b;

	switch (expr->kind) {
	case EXPR_AND:
		for (u32 i = 0; i < expr->count; i++)
			if (!naive_holds(self, expr->args[i]))
				return false;
		return true;
	case EXPR_OR:
		for (u32 i = 0; i < expr->count; i++)
			if (naive_holds(self, expr->args[i]))
				return true;
		return false;
	case EXPR_NOT:
		return !naive_holds(self, expr->args[0]);
	case EXPR_FIELD:
		return expr->field == F_FREED ? freed(self)
					      : self->page->end[self->at] == CHUNK_KEPT;
	case EXPR_KNOWN:
		return !isnan(naive_number(self, expr->args[0]));
	case EXPR_RANGE:
		a = naive_number(self, expr->args[0]);
		return a >= naive_number(self, expr->args[1]) &&
		       a <= naive_number(self, expr->args[2]);
	default:
		break;
	}
	if (expr->args[0]->type == FIELD_TEXTS)
		return naive_text(self, expr);
	a = naive_number(self, expr->args[0]);
	b = naive_number(self, expr->args[1]);
	switch (expr->kind) {
	case EXPR_EQ:
		return a == b;
	case EXPR_NE:
		return a < b || a > b;
	case EXPR_LT:
		return a < b;
	case EXPR_LE:
		return a <= b;
	case EXPR_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static void add_random_expr(struct strbuf *out, u32 depth)
{
	static const char *const leaves[] = {"size >= %u",
					     "size != %u",
					     "size < %u",
					     "life > %uns",
					     "alloc <= %u0ns",
					     "free in %uns..%u0ns",
					     "free != %u0ns",
					     "thread == %u",
					     "free_thread != %u",
					     "chunk < %u",
					     "freed",
					     "kept",
					     "known(free)",
					     "stack ~ \"std::\"",
					     "stack == \"parse\"",
					     "stack != \"Parser::token\"",
					     "free_stack ~ \"PARSE\"",
					     "free_stack != \"main\"",
					     "point == %u",
					     "size * 2 > life - %u",
					     "addr > %u00",
					     "size - life < -%u",
					     "%u < size",
					     "thread != free_thread",
					     "-size < -%u"};
	u32 kind = depth ? random_below(5) : 3;

	if (kind == 0) {
		strbuf_add(out, "not (");
		add_random_expr(out, depth - 1);
		strbuf_add(out, ")");
	} else if (kind < 3) {
		strbuf_add(out, "(");
		add_random_expr(out, depth - 1);
		strbuf_add(out, kind == 1 ? " and " : " or ");
		add_random_expr(out, depth - 1);
		strbuf_add(out, ")");
	} else {
		const char *leaf = leaves[random_below(sizeof leaves / sizeof *leaves)];
		u32 number = random_below(3) ? random_below(300) : random_below(100000);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		strbuf_addf(out, leaf, number, number + random_below(100));
#pragma GCC diagnostic pop
	}
}

static void check_against_naive(struct heap *heap, const char *condition)
{
	const struct model *model = heap->feed.model;
	struct query_error error = {0};
	struct strbuf text = {0};
	struct query *query;
	struct selection selection;
	u64 chunks = 0, bytes = 0, wrong = 0;

	strbuf_addf(&text, "all | where %s", condition);
	query = query_parse(strbuf_text(&text), &error);
	if (!query)
		FAIL("%s: %s", strbuf_text(&text), error.message);
	selection = selected(heap, strbuf_text(&text), NULL);
	for (u64 i = 0; i < model->chunks.count; i++) {
		struct naive naive = {model, chunk_at(&model->chunks, i), (u32)(i % CHUNK_PAGE), i};
		bool holds = naive_holds(&naive, query->pipe.stages[0].expr);

		wrong += holds != selection_has(&selection, i);
		chunks += holds;
		bytes += holds ? naive.page->size[naive.at] : 0;
	}
	if (!CHECK_EQ(wrong, 0))
		CHECK_STR(condition, "");
	CHECK_EQ(selection.chunks, chunks);
	CHECK_EQ(selection.bytes, bytes);
	selection_release(&selection);
	query_free(query);
	strbuf_release(&text);
}

TEST(naive, "300 random conditions select what a naive reading selects")
{
	struct heap *heap = heap_new(CHUNKS);

	for (u32 i = 0; i < 300; i++) {
		struct strbuf text = {0};

		add_random_expr(&text, i % 4);
		check_against_naive(heap, strbuf_text(&text));
		strbuf_release(&text);
	}
	heap_free(heap);
}

TEST(unknown, "what is calculated from an unknown field is unknown")
{
	struct heap *heap = heap_new(5000);

	/* Without accesses no point has a usage score; reads are known chunk by chunk. */
	CHECK_EQ(chunks_of(heap, "all | where min(usage, 3) <= 3 or max(usage, 3) >= 3"), 0);
	CHECK_EQ(chunks_of(heap, "all | where min(reads, 3) <= 3 or max(reads, 3) >= 3"), 0);
	CHECK_EQ(chunks_of(heap, "all | join point | where max(usage, 3) >= 3"), 0);
	heap_free(heap);
}

TEST(zones, "zones of pages change nothing")
{
	struct heap *heap = heap_new(CHUNKS);

	CHECK(chunk_table_make_zones(&heap->feed.model->chunks));
	for (u32 i = 0; i < 100; i++) {
		struct strbuf text = {0};

		add_random_expr(&text, i % 3);
		check_against_naive(heap, strbuf_text(&text));
		strbuf_release(&text);
	}
	heap_free(heap);
}

TEST(windows, "windows and moments are exact to the nanosecond")
{
	struct heap *heap = heap_new(5000);
	const struct model *model = heap->feed.model;

	for (u32 i = 0; i < 60; i++) {
		struct query_window window = {.from_ns = random_below(200000), .mode = i % 3};
		u64 at_ns = random_below(200000), expected[2] = {0};
		struct selection in, live;
		char text[64];

		window.to_ns = window.from_ns + random_below(20000);
		if (i % 5 == 0)
			window.from_ns = window.to_ns =
				tick_clock_ns(&model->clock,
					      chunk_at(&model->chunks, 7)->alloc_ticks[7 + i]);
		for (u64 k = 0; k < model->chunks.count; k++) {
			struct naive naive = {model, chunk_at(&model->chunks, k),
					      (u32)(k % CHUNK_PAGE), k};
			u64 born = tick_clock_ns(&model->clock, naive.page->alloc_ticks[naive.at]);
			u64 end = freed(&naive) ? tick_clock_ns(&model->clock,
								naive.page->free_ticks[naive.at])
						: UINT64_MAX;
			bool inside = window.mode == WINDOW_OVERLAP
					      ? born <= window.to_ns && end >= window.from_ns
				      : window.mode == WINDOW_ALLOC
					      ? born >= window.from_ns && born <= window.to_ns
					      : end != UINT64_MAX && end >= window.from_ns &&
							end <= window.to_ns;

			expected[0] += inside;
			expected[1] += born <= at_ns && end > at_ns;
		}
		in = selected(heap, "all", &window);
		CHECK_EQ(in.chunks, expected[0]);
		snprintf(text, sizeof text, "at %lluns", (unsigned long long)at_ns);
		live = selected(heap, text, NULL);
		CHECK_EQ(live.chunks, expected[1]);
		selection_release(&in);
		selection_release(&live);
	}
	heap_free(heap);
}

TEST(peak, "at peak has the peak's bytes, at end what was kept")
{
	struct heap *heap = heap_new(5000);
	struct selection peak = selected(heap, "at peak", NULL),
			 end = selected(heap, "at end", NULL);

	CHECK_EQ(peak.bytes, heap->feed.model->totals.peak_bytes);
	CHECK_EQ(end.bytes, heap->feed.model->totals.live_bytes);
	CHECK_EQ(end.chunks, chunks_of(heap, "all | where kept"));
	selection_release(&peak);
	selection_release(&end);
	heap_free(heap);
}

TEST(sets, "union, diff and common are those of sets")
{
	struct heap *heap = heap_new(5000);
	u64 a = chunks_of(heap, "all | where size > 100"),
	    b = chunks_of(heap, "all | where thread == 1");
	u64 both = chunks_of(heap, "all | where size > 100 and thread == 1");

	CHECK_EQ(chunks_of(heap, "union(all | where size > 100, all | where thread == 1)"),
		 a + b - both);
	CHECK_EQ(chunks_of(heap, "common(all | where size > 100, all | where thread == 1)"), both);
	CHECK_EQ(chunks_of(heap, "diff(all | where size > 100, all | where thread == 1)"),
		 a - both);
	CHECK_EQ(chunks_of(heap, "let x = all | where size > 100; diff(x, x)"), 0);
	/* what joined entries stand for */
	CHECK_EQ(chunks_of(heap, "diff(all, all | join thread | where thread == 1)"), 5000 - b);
	heap_free(heap);
}

/* ---- entries ---- */

TEST(join, "joined entries have the sums of their chunks")
{
	struct heap *heap = heap_new(5000);
	struct result *result = rows_of(heap, "all | join thread | sort thread");
	const struct result *rows = result->parts.data[0];
	u64 chunks = 0;

	CHECK_EQ(result_rows(rows), 3);
	for (u32 t = 0; t < 3; t++) {
		char text[64];
		struct selection one;

		snprintf(text, sizeof text, "all | where thread == %u", t);
		one = selected(heap, text, NULL);
		CHECK_EQ(cell(rows, t, "thread")->number, t);
		CHECK_EQ(cell(rows, t, "chunks")->number, one.chunks);
		CHECK_EQ(cell(rows, t, "size")->number, one.bytes);
		chunks += one.chunks;
		selection_release(&one);
	}
	CHECK_EQ(chunks, 5000);
	CHECK_EQ(number(result, "matched.chunks"), 5000);
	CHECK_EQ(number(result, "entries"), 3);
	result_free(result);
	heap_free(heap);
}

TEST(join_again, "entries can be joined again, filtered, sorted and limited")
{
	struct heap *heap = heap_new(5000);
	struct result *result =
		rows_of(heap, "all | join thread, call | join thread | sort size desc | limit 2");
	const struct result *rows = result->parts.data[0];

	CHECK_EQ(result_rows(rows), 2);
	CHECK(cell(rows, 0, "size")->number >= cell(rows, 1, "size")->number);
	CHECK_EQ(number(result, "matched.chunks"),
		 cell(rows, 0, "chunks")->number + cell(rows, 1, "chunks")->number);
	result_free(result);
	/* the selection is that of the entries which are left */
	CHECK_EQ(chunks_of(heap, "all | join thread | where thread != 1"),
		 chunks_of(heap, "all | where thread != 1"));
	CHECK_EQ(chunks_of(heap, "all | join fn | where fn ~ \"copy\""),
		 chunks_of(heap, "all | where fn ~ \"copy\""));
	CHECK_EQ(chunks_of(heap, "all | join stack | where stack ~ \"vector\""),
		 chunks_of(heap, "all | where stack ~ \"vector\""));
	CHECK_EQ(chunks_of(heap, "all | join call | where call in (\"new\", \"x\")"),
		 chunks_of(heap, "all | where call == \"new\""));
	heap_free(heap);
}

TEST(fn, "fn is the innermost function that is not of the library, or a place")
{
	struct heap *heap = heap_new(2000);

	CHECK_EQ(chunks_of(heap, "all | where fn == \"std::vector<int>::grow\""), 0);
	CHECK(chunks_of(heap, "all | where fn == \"main\"") > 0);
	CHECK_EQ(chunks_of(heap, "all | where module ~ \"libhelp\""),
		 chunks_of(heap, "all | where fn ~ /^libhelp.so.1\\+0x/"));
	CHECK(chunks_of(heap, "all | where module ~ \"libhelp\"") > 0);
	heap_free(heap);
}

TEST(agg, "agg calculates over chunks, by entry if they are joined")
{
	struct heap *heap = heap_new(5000);
	const struct model *model = heap->feed.model;
	struct result *result =
		rows_of(heap, "all | where freed | agg count(), sum(size), avg(size), min(size), "
			      "max(size), p50(size), p100(size), count(free_thread)");
	const struct result *rows = result->parts.data[0];
	u64 sum = 0, count = 0, below = 0, median, most = 0;

	for (u64 i = 0; i < 5000; i++) {
		const struct chunk_page *page = chunk_at(&model->chunks, i);

		if (page->end[i % CHUNK_PAGE] != CHUNK_FREED)
			continue;
		sum += page->size[i % CHUNK_PAGE];
		most = page->size[i % CHUNK_PAGE] > most ? page->size[i % CHUNK_PAGE] : most;
		count++;
	}
	CHECK_EQ(cell(rows, 0, "count()")->number, count);
	CHECK_EQ(cell(rows, 0, "count(free_thread)")->number, count);
	CHECK_EQ(cell(rows, 0, "sum(size)")->number, sum);
	CHECK_EQ(cell(rows, 0, "max(size)")->number, most);
	CHECK_EQ(cell(rows, 0, "p100(size)")->number, most);
	median = cell(rows, 0, "p50(size)")->number;
	for (u64 i = 0; i < 5000; i++) {
		const struct chunk_page *page = chunk_at(&model->chunks, i);

		below += page->end[i % CHUNK_PAGE] == CHUNK_FREED &&
			 page->size[i % CHUNK_PAGE] < median;
	}
	CHECK(below < (count + 1) / 2);
	result_free(result);
	result = rows_of(
		heap,
		"all | join thread | agg sum(size), p50(life) | sort sum(size) desc | limit 1");
	rows = result->parts.data[0];
	CHECK_EQ(result_rows(rows), 1);
	CHECK_EQ(cell(rows, 0, "sum(size)")->number, number(result, "matched.bytes"));
	result_free(result);
	heap_free(heap);
}

TEST(agg_unknown, "a percentile is that of the known values, and unknown without any")
{
	struct heap *heap = heap_new(5000);
	struct result *all = rows_of(heap, "all | agg p0(free), p50(free), p100(free)");
	struct result *freed = rows_of(heap, "all | where freed | agg p0(free), p50(free), p100(free)");
	struct result *kept = rows_of(heap, "all | where kept | agg count(), count(free), p50(free)");
	static const char *const names[] = {"p0(free)", "p50(free)", "p100(free)"};

	for (u32 i = 0; i < 3; i++)
		CHECK_EQ(cell(all->parts.data[0], 0, names[i])->number,
			 cell(freed->parts.data[0], 0, names[i])->number);
	CHECK(cell(kept->parts.data[0], 0, "count()")->number > 0);
	CHECK_EQ(cell(kept->parts.data[0], 0, "count(free)")->number, 0);
	CHECK(!cell(kept->parts.data[0], 0, "p50(free)")->known);
	result_free(all);
	result_free(freed);
	result_free(kept);
	heap_free(heap);
}

TEST(order, "sort and limit keep the first in a stable order, unknown ones last")
{
	struct heap *heap = heap_new(5000);
	struct result *result = rows_of(heap, "all | sort size desc | limit 50");
	const struct result *rows = result->parts.data[0];

	CHECK_EQ(result_rows(rows), 50);
	for (u64 i = 1; i < 50; i++)
		CHECK(cell(rows, i - 1, "size")->number > cell(rows, i, "size")->number ||
		      (cell(rows, i - 1, "size")->number == cell(rows, i, "size")->number &&
		       cell(rows, i - 1, "chunk")->number < cell(rows, i, "chunk")->number));
	CHECK_EQ(number(result, "matched.chunks"), 50);
	result_free(result);
	result = rows_of(heap, "all | limit 4 | sort free desc");
	rows = result->parts.data[0];
	CHECK_EQ(result_rows(rows), 4);
	for (u64 i = 1; i < 4; i++)
		CHECK(!cell(rows, i, "free")->known || cell(rows, i - 1, "free")->known);
	result_free(result);
	/* the later sort counts first, the earlier one where that is equal */
	result = rows_of(heap, "all | sort size desc | sort thread");
	rows = result->parts.data[0];
	for (u64 i = 1; i < result_rows(rows); i++)
		if (cell(rows, i - 1, "thread")->number == cell(rows, i, "thread")->number)
			CHECK(cell(rows, i - 1, "size")->number >= cell(rows, i, "size")->number);
	result_free(result);
	heap_free(heap);
}

TEST(unify, "unify cuts leaves of the call tree until each has enough")
{
	struct heap *heap = heap_new(5000);
	struct selection all = selected(heap, "all", NULL);
	struct result *result = rows_of(heap, "all | unify until 2MiB");
	const struct result *rows = result->parts.data[0];
	u64 bytes = 0;

	CHECK(result_rows(rows) > 1 && result_rows(rows) < 12);
	for (u64 i = 0; i < result_rows(rows); i++) {
		const struct result_stack *stack = cell(rows, i, "stack")->stack;

		bytes += cell(rows, i, "size")->number;
		/* only the outermost frame may stay below: nobody called it */
		CHECK(cell(rows, i, "size")->number >= 2 << 20 || stack->count == 1);
	}
	CHECK_EQ(bytes, all.bytes);
	result_free(result);
	result = rows_of(heap, "all | unify until 1GiB");
	CHECK_EQ(result_rows(result->parts.data[0]), 1);
	CHECK_STR(cell(result->parts.data[0], 0, "stack")->stack->frames[0].function, "main");
	result_free(result);
	selection_release(&all);
	heap_free(heap);
}

TEST(hide, "hidden frames leave stacks, and stacks that differ in nothing else are one")
{
	struct heap *heap = heap_new(5000);
	struct result *plain = rows_of(heap, "all | join stack"),
		      *hidden = rows_of(heap, "all | hide /./ | join stack");
	struct result *some = rows_of(heap, "all | hide \"parse\" | join stack");
	const struct result *rows = some->parts.data[0];

	CHECK_EQ(result_rows(plain->parts.data[0]), heap->feed.model->points.count);
	CHECK(result_rows(hidden->parts.data[0]) < 3); /* what has no name cannot be hidden */
	CHECK(result_rows(rows) < heap->feed.model->points.count);
	for (u64 i = 0; i < result_rows(rows); i++) {
		const struct value *stack = cell(rows, i, "stack");

		for (u32 k = 0; stack->known && k < stack->stack->count; k++)
			CHECK(!strcasestr(stack->stack->frames[k].function, "parse"));
	}
	result_free(plain);
	result_free(hidden);
	result_free(some);
	heap_free(heap);
}

TEST(users, "scores and categories of one's own are fields")
{
	struct heap *heap = heap_new(5000);
	struct result *result;

	CHECK_EQ(chunks_of(heap, "let score twice = size * 2; all | where twice > 100"),
		 chunks_of(heap, "all | where size > 50"));
	CHECK_EQ(chunks_of(heap, "let category small = size < 50; let category rest = size >= 10; "
				 "all | where category "
				 "== \"rest\""),
		 chunks_of(heap, "all | where size >= 50"));
	CHECK_EQ(chunks_of(heap,
			   "let category small = size < 50; all | where category != \"other\""),
		 chunks_of(heap, "all | where size < 50"));
	CHECK_EQ(chunks_of(heap, "let category small = size < 50; all | where not small"),
		 chunks_of(heap, "all | where size >= 50"));
	result = rows_of(heap, "let category small = size < 50; let category big = size >= 1000; "
			       "all | join category | "
			       "sort category");
	CHECK_EQ(result_rows(result->parts.data[0]), 3);
	CHECK_STR(cell(result->parts.data[0], 0, "category")->text, "big");
	CHECK_STR(cell(result->parts.data[0], 1, "category")->text, "small");
	CHECK(!cell(result->parts.data[0], 2, "category")->known);
	result_free(result);
	result =
		rows_of(heap, "let score mean = size / chunks; all | join thread | sort mean desc");
	CHECK(cell(result->parts.data[0], 0, "mean")->real >=
	      cell(result->parts.data[0], 2, "mean")->real);
	result_free(result);
	heap_free(heap);
}

TEST(colors, "color gives colours, which later stages and views see")
{
	struct heap *heap = heap_new(5000);
	struct query_error error = {0};
	struct query_colors colors = {0};

	CHECK_EQ(chunks_of(heap, "all | color red if size > 100 | color #000001 if thread == 1 | "
				 "where color == #000001"),
		 chunks_of(heap, "all | where thread == 1"));
	CHECK_EQ(chunks_of(heap, "all | color red if size > 100 | where not known(color)"),
		 chunks_of(heap, "all | where size <= 100"));
	if (query_find_colors(heap->engine, "all | color #123456 if kept", NULL, &colors, &error) <
	    0)
		FAIL("%s", error.message);
	CHECK_EQ(colors.count, 1);
	CHECK_EQ(colors.palette[0], 0x123456);
	for (u64 i = 0; i < 5000; i++)
		CHECK_EQ(colors.by_chunk[i], chunk_end(&heap->feed.model->chunks, i) == CHUNK_KEPT);
	query_colors_release(&colors);
	CHECK_EQ(
		chunks_of(heap,
			  "all | join thread | color blue if thread == 2 | where color == #3b6fb6"),
		chunks_of(heap, "all | where thread == 2"));
	heap_free(heap);
}

TEST(counts, "the boxes of a graph tell what passes them")
{
	struct heap *heap = heap_new(5000);
	struct query_error error = {0};
	struct query_counts counts;

	if (query_count(
		    heap->engine,
		    "let score s = size; let x = all | where s > 100; x | join thread | limit 2",
		    &counts, &error) < 0)
		FAIL("%s", error.message);
	CHECK_EQ(counts.count, 5);
	CHECK_EQ(counts.boxes[0].chunks, 0); /* a score */
	CHECK_EQ(counts.boxes[1].chunks, 5000);
	CHECK_EQ(counts.boxes[2].chunks, chunks_of(heap, "all | where size > 100"));
	CHECK_EQ(counts.boxes[3].entries, 3);
	CHECK_EQ(counts.boxes[3].chunks, counts.boxes[2].chunks);
	CHECK_EQ(counts.boxes[4].entries, 2);
	heap_free(heap);
}

TEST(two_traces, "stacks of two traces are the same if their functions are")
{
	struct heap *one = heap_new(3000), *two = heap_new(1000);
	struct query_trace traces[2];
	struct query_error error = {0};
	struct selection selection;
	struct result *result = NULL;
	struct query_options options = {0};

	query_engine_free(one->engine);
	traces[0] = trace_of(one, "/tmp/one.hwt");
	traces[1] = trace_of(two, "/tmp/two.hwt");
	one->engine = query_engine_new(traces, 2);
	CHECK_EQ(chunks_of(one, "all"), 3000);
	CHECK_EQ(chunks_of(one, "trace \"one.hwt\""), 3000);
	CHECK_EQ(chunks_of(one, "trace \"base\""), 0); /* of the first trace */
	CHECK_EQ(chunks_of(one, "diff(all, trace \"two\")"), 0);
	CHECK_EQ(chunks_of(one, "common(all, trace \"two\")"), 3000);
	CHECK_EQ(chunks_of(one, "diff(all, trace \"two\" | where stack ~ \"copy_text\")"),
		 chunks_of(one, "all | where not stack ~ \"copy_text\""));
	if (query_run(one->engine, "union(all, trace \"base\") | join fn | sort fn", &options,
		      &result, &error) < 0)
		FAIL("%s", error.message);
	CHECK_EQ(number(result, "matched.chunks"), 4000);
	for (u64 i = 1; i < result_rows(result->parts.data[0]); i++)
		CHECK(strcmp(cell(result->parts.data[0], i - 1, "fn")->text,
			     cell(result->parts.data[0], i, "fn")->text) < 0);
	result_free(result);
	CHECK(query_select(one->engine, "trace \"three\"", NULL, &selection, &error) < 0);
	CHECK_STR(error.message, "no trace 'three' is open");
	selection_release(&selection);
	heap_free(one);
	heap_free(two);
}

/* Two chunks for each context: the first two contexts allocate one each, this one frees both. */
static struct heap *frees_new(const u32 *functions, const u32 *parents, u32 count)
{
	struct heap *heap = calloc(1, sizeof *heap);
	struct feed *feed = &heap->feed;

	*feed = feed_new();
	tell_module(feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	for (u32 i = 0; i < count; i++)
		tell_context(feed, i + 1, parents[i], pc_of(PROGRAM_BASE, functions[i]));
	tell_thread(feed, 0);
	for (u32 i = 0; i < 2 * count; i++) {
		u64 chunk = tell_alloc(feed, HW_MALLOC, 1 + i % 2, 32);

		tell_event(feed, (struct event){.kind = HW_FREE,
						.context = i / 2 + 1,
						.chunk = chunk,
						.address = 0x1000 + 16 * chunk});
	}
	tell_end(feed, IMAGE_EXITED);
	heap->symbols = named_table(function_names, FUNCTIONS, heap->frames, heap->entries);
	return heap;
}

/* A number of a query's answer, of whichever trace. */
static u64 asked(struct heap *heap, const char *text, const char *what)
{
	struct result *result = rows_of(heap, text);
	u64 answer = number(result, what);

	result_free(result);
	return answer;
}

TEST(two_free_stacks, "entries have the freeing stack of their own trace")
{
	/* Frame 2 is main → parse in one trace, parse → token in the other, which has more frames. */
	static const u32 few[] = {1, 3}, few_parents[] = {0, 1};
	static const u32 many[] = {3, 4, 1, 5, 6, 2, 3, 4, 5};
	static const u32 many_parents[] = {0, 1, 0, 3, 2, 2, 6, 7, 8};
	static const struct {
		const char *text, *what;
		u64 number;
	} cases[] = {
		{"trace \"large\" | join free_stack | where free_stack ~ \"main\"", "matched.chunks", 4},
		{"trace \"large\" | join free_stack | where free_stack ~ \"token\"", "matched.chunks",
		 12},
		{"trace \"small\" | join free_stack | where free_stack ~ \"main\"", "matched.chunks", 4},
		{"trace \"small\" | join free_stack | where free_stack ~ \"token\"", "matched.chunks", 0},
		/* Frames of two traces are not the same because their numbers are. */
		{"union(all, trace \"base\") | join free_stack", "entries", 11},
		{"union(all, trace \"base\") | join size | where known(free_stack)", "entries", 0},
		/* A stack that is unknown is so in either trace. */
		{"union(all, trace \"base\") | join free_stack | join stack", "entries", 1},
	};
	struct heap *small = frees_new(few, few_parents, 2);
	struct heap *large = frees_new(many, many_parents, 9);
	struct query_trace traces[3] = {trace_of(small, "/tmp/small.hwt"),
					trace_of(large, "/tmp/large.hwt"),
					trace_of(small, "/tmp/small.hwt")};

	for (u32 first = 0; first < 2; first++) {
		query_engine_free(small->engine);
		small->engine = query_engine_new(traces + first, 2);
		for (u32 i = 0; i < sizeof cases / sizeof *cases; i++)
			if (asked(small, cases[i].text, cases[i].what) != cases[i].number)
				FAIL("trace %u first: %s: %llu", first, cases[i].text,
				     (unsigned long long)asked(small, cases[i].text, cases[i].what));
	}
	heap_free(small);
	heap_free(large);
}

TEST(foreign_sources, "types are not guessed from a source that is a pipe or a device")
{
	struct heap *heap = heap_new(100);
	struct query_trace trace = trace_of(heap, "/tmp/one.hwt");
	char paths[3][300] = {"/absent", "", "/dev/zero"};
	u64 typed[3];

	snprintf(paths[1], sizeof paths[1], "%s/pipe.c", test_folder());
	CHECK_EQ(mkfifo(paths[1], 0600), 0);
	trace.guess = true;
	for (u32 i = 0; i < 3; i++) {
		for (u32 f = 0; f < FUNCTIONS; f++) {
			heap->frames[f].file = paths[i];
			heap->frames[f].line = 1;
		}
		query_engine_free(heap->engine);
		heap->engine = query_engine_new(&trace, 1);
		typed[i] = chunks_of(heap, "all | where known(type)");
		CHECK_EQ(typed[i], typed[0]);
	}
	heap_free(heap);
}

TEST(many_comparisons, "memory for conditions on entries does not grow with their comparisons")
{
	enum { ENTRIES = 100000, COMPARISONS = 400 };
	struct entries *entries = entries_new();
	struct strbuf text = {0};
	struct query_error error = {0};
	struct query *query;
	struct arena arena = {0};
	struct err err = {0};
	struct domain domain = {0};
	struct planner planner = {
		.domain = &domain, .entries = entries, .arena = &arena, .err = &err};
	struct mask_plan *mask;

	entries->count = ENTRIES;
	entries->columns.data[F_SIZE] = malloc(ENTRIES * sizeof(double));
	for (u32 i = 0; i < ENTRIES; i++)
		entries->columns.data[F_SIZE][i] = i;
	strbuf_add(&text, "all | join chunk | where size in (1, 2, 3)");
	for (u32 i = 0; i < COMPARISONS / 2; i++)
		strbuf_addf(&text, " or not size != %u or (size > %u) == (size < %u)", 2 * i, 2 * i, 2 * i + 2);
	query = query_parse(strbuf_text(&text), &error);
	if (!query)
		FAIL("%s", error.message);
	planner.query = query;
	mask = plan_mask(&planner, query->pipe.stages[1].expr);
	CHECK(mask && mask_of_entry(mask, 1) && mask_of_entry(mask, COMPARISONS - 1));
	CHECK(!mask_of_entry(mask, COMPARISONS + 1));
	CHECK(arena.bytes < 4 * ENTRIES);
	arena_release(&arena);
	query_free(query);
	strbuf_release(&text);
	entries_free(entries);
}

TEST(order_errors, "stages that cannot follow are told")
{
	struct heap *heap = heap_new(100);
	static const char *const texts[] = {"all | join thread | unify until 1KiB",
					    "all | sort sum(size)",
					    "all | agg sum(size) | sort avg(size)"};

	for (u32 i = 0; i < 3; i++) {
		struct selection selection;
		struct query_error error = {0};

		CHECK_EQ(query_select(heap->engine, texts[i], NULL, &selection, &error), ERR_USAGE);
		CHECK(error.at > 0 && error.hint[0]);
		selection_release(&selection);
	}
	heap_free(heap);
}

TEST(nothing, "an empty program has entries of nothing")
{
	struct heap *heap = heap_new(0);
	static const char *const texts[] = {
		"all",
		"at peak",
		"all | join type",
		"all | agg sum(size), p50(life)",
		"all | unify until 1B",
		"diff(all, all) | sort size | limit 3",
		"all | where sev > 3 and type ~ \"x\" and reads > 3 | color by type"};

	for (u32 i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct result *result = rows_of(heap, texts[i]);

		CHECK_EQ(number(result, "matched.chunks"), 0);
		result_free(result);
	}
	heap_free(heap);
}

/* ---- threads ---- */

struct asker {
	struct heap *heap;
	u64 chunks;
};

static void *ask_often(void *data)
{
	struct asker *self = data;

	for (u32 i = 0; i < 20; i++) {
		char text[128];

		snprintf(text, sizeof text,
			 "all | where size >= %u and stack ~ \"parse\" | limit 1000000", i % 7);
		self->chunks += chunks_of(self->heap, text);
	}
	return NULL;
}

TEST(askers, "several threads may ask one engine, which itself uses two for many chunks")
{
	struct heap *heap = heap_new(300000);
	struct asker askers[4] = {{heap, 0}, {heap, 0}, {heap, 0}, {heap, 0}};
	pthread_t threads[4];

	for (u32 i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, ask_often, &askers[i]))
			FAIL("no thread");
	for (u32 i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (u32 i = 1; i < 4; i++)
		CHECK_EQ(askers[i].chunks, askers[0].chunks);
	check_against_naive(heap, "size in 10..100 and not stack ~ \"copy\" or life > 3us");
	heap_free(heap);
}
