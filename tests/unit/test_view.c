/* SPDX-License-Identifier: MIT
 * What views show, of small heaps whose numbers are known by hand. */
#include <math.h>

#include "study/model/durations.h"
#include "unit/test_analysis.h"
#include "study/layout/chunks.h"
#include "study/layout/flame.h"
#include "study/layout/keys.h"
#include "study/layout/memory.h"
#include "study/layout/part.h"
#include "study/layout/pattern.h"
#include "study/layout/points.h"
#include "study/layout/source.h"
#include "study/layout/suggest.h"
#include "study/layout/threads.h"
#include "study/layout/timeline.h"
#include "study/layout/weigh.h"

/* main (1) calls parse (2) and draw (3); parse calls grow (4), which may call itself. Contexts:
 *	1 main  2 main>parse  3 main>draw  4 main>parse>grow  5 main>parse>grow>grow  6 main>draw>grow */
static const char *const names[] = {"main", "parse", "draw", "grow"};

struct heap {
	struct feed feed;
	struct symbol_frame frames[4];
	struct symbol_entry entries[4];
	struct symbol_table symbols;
	struct study *trace;
	struct err err;
};

static void heap_begin(struct heap *self)
{
	*self = (struct heap){.feed = feed_new()};
	tell_module(&self->feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_clock(&self->feed, 1000, 5000);
	tell_clock(&self->feed, 101000, 105000); /* a tick is a ns; time is ticks - 1000 */
	tell_context(&self->feed, 1, 0, pc_of(PROGRAM_BASE, 1));
	tell_context(&self->feed, 2, 1, pc_of(PROGRAM_BASE, 2));
	tell_context(&self->feed, 3, 1, pc_of(PROGRAM_BASE, 3));
	tell_context(&self->feed, 4, 2, pc_of(PROGRAM_BASE, 4));
	tell_context(&self->feed, 5, 4, pc_of(PROGRAM_BASE, 4));
	tell_context(&self->feed, 6, 3, pc_of(PROGRAM_BASE, 4));
	tell_thread(&self->feed, 0);
	tell_thread(&self->feed, 1);
	self->symbols = named_table(names, 4, self->frames, self->entries);
	for (u32 i = 0; i < 4; i++)
		self->frames[i].line = 10 * (i + 1);
}

static void heap_end(struct heap *self)
{
	tell_end(&self->feed, IMAGE_EXITED);
	self->trace = study_new("/nowhere/a.hwt", &view_options);
	if (!self->trace ||
	    study_take(self->trace, self->feed.model, &self->symbols, &self->err) < 0)
		FAIL("%s", self->err.text);
}

/* Time in ns: 10, 20, 30 … by event. */
static void heap_plain(struct heap *self)
{
	u64 first;

	heap_begin(self);
	first = tell_alloc(&self->feed, HW_MALLOC, 2, 100); /* 10: parse, live 100 */
	tell_alloc(&self->feed, HW_MALLOC, 4, 300);         /* 20: grow, live 400 */
	tell_alloc(&self->feed, HW_MALLOC, 5, 50);          /* 30: grow > grow, live 450 */
	tell_free(&self->feed, HW_FREE, first, 100);        /* 40: live 350 */
	self->feed.thread = 1;
	tell_alloc(&self->feed, HW_MALLOC, 6, 40); /* 50: draw > grow, live 390 */
	tell_free(&self->feed, HW_FREE, 1, 300);   /* 60: by the other thread, live 90 */
	tell_alloc(&self->feed, HW_MALLOC, 3, 10); /* 70: draw, live 100 */
	heap_end(self);
}

static struct view_scope scope_of(struct heap *self, const char *text,
				  const struct query_window *window)
{
	struct query_error error = {0};
	struct view_scope scope;

	if (view_scope_init(&scope, self->trace, text, window, &error) < 0)
		FAIL("%s", error.message);
	return scope;
}

static const struct flame_box *box_of(const struct flame_view *view, const char *name, u32 depth)
{
	for (u64 i = 0; i < view->boxes.count; i++)
		if (view->boxes.data[i].depth == depth &&
		    strcmp(view->boxes.data[i].name, name) == 0)
			return &view->boxes.data[i];
	FAIL("there is no box %s at depth %u", name, depth);
}

static struct flame_view flame_of(struct heap *heap, struct flame_query query, const char *text)
{
	struct view_scope scope = scope_of(heap, text, NULL);
	struct flame_view view = {0};

	if (!query.px)
		query.px = 1000;
	if (!(query.x1 > 0))
		query.x1 = 1;
	if (flame_view_make(&view, &scope, &query, &heap->err) < 0)
		FAIL("%s", heap->err.text);
	view_scope_release(&scope);
	return view;
}

TEST(flame_down, "boxes lie in their callers, as wide as what was allocated below them")
{
	struct heap heap;
	struct flame_view view;

	heap_plain(&heap);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES}, "all");
	CHECK_EQ((u64)view.total, 500);
	CHECK_EQ((u64)box_of(&view, "main", 1)->total, 500);
	CHECK_EQ((u64)box_of(&view, "parse", 2)->total, 450);
	CHECK_EQ((u64)box_of(&view, "parse", 2)->self, 100);
	CHECK_EQ((u64)box_of(&view, "draw", 2)->total, 50);
	CHECK_EQ((u64)box_of(&view, "draw", 2)->self, 10);
	CHECK_EQ(box_of(&view, "draw", 2)->line, 30);
	CHECK_STR(box_of(&view, "parse", 2)->module, "/bin/prog");
	CHECK(fabs(box_of(&view, "parse", 2)->x1 - 0.9) < 1e-12); /* the heaviest is at the left */
	CHECK(fabs(box_of(&view, "draw", 2)->x0 - 0.9) < 1e-12);
	CHECK(box_of(&view, "draw", 2)->flags & FLAME_LEAF);
	CHECK(!(box_of(&view, "main", 1)->flags & FLAME_LEAF));
	CHECK_EQ(view.nodes_all, 7); /* all, main, parse, draw, grow, grow, grow */
	CHECK_EQ(view.max_depth, 4);
	flame_view_release(&view);
	study_free(heap.trace);
}

TEST(flame_metrics, "each metric weighs points by its own measure")
{
	static const struct {
		enum view_metric metric;
		u64 at_ns, total;
	} rows[] = {
		{METRIC_ALLOCS, 0, 5},    {METRIC_BYTES, 0, 500},      {METRIC_PEAK, 0, 450},
		{METRIC_KEPT, 0, 100},  {METRIC_LIVE, 9, 0},         {METRIC_LIVE, 10, 100},
		{METRIC_LIVE, 29, 400},   {METRIC_LIVE, 39, 450},      {METRIC_LIVE, 40, 350},
		{METRIC_LIVE, 1000, 100}, {METRIC_CHUNKS_LIVE, 35, 3}, {METRIC_TEMPORARY, 0, 0},
	};
	struct heap heap;

	heap_plain(&heap);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct flame_view view = flame_of(&heap,
						  (struct flame_query){.metric = rows[i].metric,
								       .at_ns = rows[i].at_ns},
						  "all");

		test_check((u64)view.total == rows[i].total, __FILE__, __LINE__,
			   "%s at %u is %u, not %u", view_metric_name(rows[i].metric),
			   (u32)rows[i].at_ns, (u32)view.total, (u32)rows[i].total);
		flame_view_release(&view);
	}
	study_free(heap.trace);
}

/* Of 8 MiB in parse half is touched when most is resident, of two pages in draw one; the freed
 * chunk and the smaller looks around do not count. */
TEST(flame_resident, "what weighs is on resident pages, when most of all was resident")
{
	enum { KIB = 1 << 10, MIB = 1 << 20, BASE = 16 * MIB };
	static const struct stream_resident rows[] = {
		{BASE, 4 * MIB, 4 * MIB, MEMORY_ANONYMOUS, 0},
		{BASE + 12 * MIB, 12 * KIB, 12 * KIB, MEMORY_BREAK, 0},
	};
	struct flame_query query = {.metric = METRIC_RESIDENT, .px = 10000, .x1 = 1};
	struct query_window window = {.from_ns = 1, .to_ns = 12};
	struct flame_view view = {0};
	struct view_scope scope;
	struct heap heap;
	u64 freed;

	heap_begin(&heap);
	tell_block(&heap.feed, 2, BASE, 8 * MIB); /* at 10 */
	tell_memory(&heap.feed, rows, 1);
	tell_block(&heap.feed, 3, BASE + 12 * MIB + 8 * KIB, 8 * KIB);
	freed = tell_block(&heap.feed, 4, BASE + 12 * MIB, 4 * KIB);
	tell_free(&heap.feed, HW_FREE, freed, 4 * KIB);
	tell_memory(&heap.feed, rows, 2);
	tell_block(&heap.feed, 6, BASE + MIB, KIB); /* after the look */
	tell_memory(&heap.feed, rows + 1, 1);
	heap_end(&heap);

	view = flame_of(&heap, query, "all");
	CHECK_EQ((u64)view.total, 4 * MIB + 4 * KIB);
	CHECK_EQ((u64)box_of(&view, "parse", 2)->total, 4 * MIB);
	CHECK_EQ((u64)box_of(&view, "draw", 2)->total, 4 * KIB);
	CHECK_EQ(view.at_ns, 41);
	flame_view_release(&view);

	view = (struct flame_view){0};
	scope = scope_of(&heap, "all", &window); /* with the first look */
	CHECK_EQ(flame_view_make(&view, &scope, &query, &heap.err), 0);
	CHECK_EQ((u64)view.total, 4 * MIB);
	CHECK_EQ(view.at_ns, 11);
	flame_view_release(&view);
	view_scope_release(&scope);
	window.to_ns = 10; /* with none */
	scope = scope_of(&heap, "all", &window);
	CHECK_EQ(flame_view_make(&view, &scope, &query, &heap.err), ERR_USAGE);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(flame_resident_work, "blocks that overlap do not take work each for all rows of memory")
{
	enum { PAGE = 4096, ROWS = 4096, BLOCKS = 1000 };
	struct flame_query query = {.metric = METRIC_RESIDENT, .px = 10000, .x1 = 1};
	struct stream_resident *rows = calloc(ROWS, sizeof *rows);
	struct flame_view view;
	struct heap heap;

	for (u64 i = 0; i < ROWS; i++)
		rows[i] = (struct stream_resident){PAGE * (1 + 2 * i), PAGE, PAGE, MEMORY_BREAK, 0};
	heap_begin(&heap);
	for (u32 i = 0; i < BLOCKS; i++)
		tell_block(&heap.feed, 2 + (i > 0), PAGE, 2ull * ROWS * PAGE);
	tell_memory(&heap.feed, rows, ROWS);
	heap_end(&heap);
	view = flame_of(&heap, query, "all");
	CHECK_EQ((u64)box_of(&view, "parse", 2)->total, ROWS * PAGE); /* the first one */
	CHECK((u64)box_of(&view, "draw", 2)->total < (BLOCKS - 1ull) * ROWS * PAGE / 2);
	flame_view_release(&view);
	study_free(heap.trace);
	free(rows);
}

TEST(flame_lost, "what weighs is lost by the leak scan, indirectly too")
{
	static const struct stream_class classes[] = {{0, CLASS_LOST},
						      {1, CLASS_INDIRECT},
						      {2, CLASS_POSSIBLE},
						      {3, CLASS_REACHABLE},
						      {4, CLASS_LOST}};
	struct flame_view view;
	struct heap heap;

	heap_begin(&heap);
	for (u32 i = 0; i < 5; i++)
		tell_alloc(&heap.feed, HW_MALLOC, i == 0 ? 2 : 3, 1u << i);
	tell_scan(&heap.feed, SCAN_DONE, "", classes, 5);
	tell_free(&heap.feed, HW_FREE, 4, 16); /* the scan was wrong about it */
	heap_end(&heap);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_LOST}, "all");
	CHECK_EQ((u64)view.total, 3);
	CHECK_EQ((u64)box_of(&view, "parse", 2)->total, 1);
	CHECK_EQ((u64)box_of(&view, "draw", 2)->total, 2);
	flame_view_release(&view);
	study_free(heap.trace);
}

TEST(flame_missing, "a metric that the trace cannot have is refused with a reason")
{
	static const enum view_metric missing[] = {METRIC_LOST, METRIC_RESIDENT, METRIC_IDLE};
	struct view_scope scope;
	struct heap heap;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	for (u32 i = 0; i < 3; i++) {
		struct flame_query query = {.metric = missing[i], .px = 100, .x1 = 1};
		struct flame_view view = {0};

		CHECK_EQ(flame_view_make(&view, &scope, &query, &heap.err), ERR_USAGE);
		CHECK_STR(heap.err.text, view_metric_missing(heap.trace->model, missing[i]));
		flame_view_release(&view);
	}
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(flame_up, "from the side of who allocates, stacks that end alike are one")
{
	struct heap heap;
	struct flame_view view;

	heap_plain(&heap);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES, .dir = FLAME_UP},
			"all");
	CHECK_EQ((u64)box_of(&view, "grow", 1)->total, 390);
	CHECK_EQ((u64)box_of(&view, "parse", 1)->total, 100);
	CHECK_EQ((u64)box_of(&view, "draw", 2)->total, 40); /* below grow */
	flame_view_release(&view);
	view = flame_of(&heap,
			(struct flame_query){.metric = METRIC_BYTES,
					     .dir = FLAME_UP,
					     .fold_recursion = true},
			"all");
	CHECK_EQ((u64)box_of(&view, "parse", 2)->total, 350); /* grow > grow is one box */
	CHECK(box_of(&view, "grow", 1)->flags & FLAME_RECURSION);
	flame_view_release(&view);
	study_free(heap.trace);
}

TEST(flame_pivot, "a pivot has what the function called on one side, and its callers on the other")
{
	struct heap heap;
	struct flame_view view;
	struct flame_query query = {.metric = METRIC_BYTES, .dir = FLAME_PIVOT, .pivot = "parse"};

	heap_plain(&heap);
	view = flame_of(&heap, query, "all");
	CHECK_EQ((u64)view.total, 450);
	CHECK_EQ((u64)box_of(&view, "parse", 1)->total, 450);
	CHECK_EQ((u64)box_of(&view, "grow", 2)->total, 350);
	CHECK_EQ((u64)box_of(&view, "main", 2)->total, 450);
	CHECK(box_of(&view, "main", 2)->flags & FLAME_CALLER);
	flame_view_release(&view);
	query.pivot = "nobody";
	query.px = 100;
	query.x1 = 1;
	{
		struct view_scope scope = scope_of(&heap, "all", NULL);

		CHECK_EQ(flame_view_make(&view, &scope, &query, &heap.err), ERR_USAGE);
		view_scope_release(&scope);
	}
	study_free(heap.trace);
}

TEST(flame_hide, "a hidden frame is gone, and what it did is its caller's")
{
	struct heap heap;
	struct flame_view view;

	heap_plain(&heap);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES, .hide = "GROW"}, "all");
	CHECK_EQ((u64)box_of(&view, "parse", 2)->self, 450);
	CHECK_EQ(view.nodes_all, 4);
	flame_view_release(&view);
	study_free(heap.trace);
}

TEST(flame_narrow, "siblings below a pixel are one box that stands for them, and widths add up")
{
	struct heap heap;
	struct flame_view view;
	const struct flame_box *box;

	heap_plain(&heap);
	/* 16 pixels: draw, a tenth, is seen; its parts are not. */
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES, .px = 16}, "all");
	CHECK_EQ((u64)box_of(&view, "draw", 2)->total, 50);
	box = box_of(&view, "grow", 3);
	CHECK_EQ((u64)box->total, 350);
	flame_view_release(&view);
	/* 8 pixels: 40 of 500 bytes are less than one. */
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES, .px = 12}, "all");
	for (u64 i = 0; i < view.boxes.count; i++)
		CHECK(view.boxes.data[i].x1 - view.boxes.data[i].x0 >= 1.0 / 12);
	flame_view_release(&view);
	/* A part of the width in more pixels shows more. */
	view = flame_of(&heap,
			(struct flame_query){.metric = METRIC_BYTES, .px = 16, .x0 = 0.9, .x1 = 1},
			"all");
	CHECK_EQ((u64)box_of(&view, "grow", 3)->total, 40);
	flame_view_release(&view);
	study_free(heap.trace);
}

/* main calls parse, which allocates so many bytes at line 20 and at line 30. */
static void heap_lines(struct heap *self, u64 at_20, u64 at_30)
{
	heap_begin(self);
	self->frames[2].function = "parse";
	if (at_20)
		tell_alloc(&self->feed, HW_MALLOC, 2, at_20);
	if (at_30)
		tell_alloc(&self->feed, HW_MALLOC, 3, at_30);
	heap_end(self);
}

/* What the base has at a line of parse. */
static u64 base_at(const struct flame_view *view, u32 line)
{
	for (u64 i = 0; i < view->boxes.count; i++)
		if (view->boxes.data[i].depth == 3 && view->boxes.data[i].line == line)
			return (u64)view->boxes.data[i].base;
	FAIL("there is no box of line %u", line);
}

static struct flame_view flame_beside(struct heap *ours, struct heap *theirs)
{
	struct view_scope base = scope_of(theirs, "all", NULL);
	struct flame_query query = {.metric = METRIC_BYTES, .base = &base};
	struct flame_view view = flame_of(ours, query, "all");

	view_scope_release(&base);
	return view;
}

TEST(flame_base_lines, "each line of a function is compared with the same line of the base")
{
	struct heap both, first;
	struct flame_view view;

	heap_lines(&both, 100, 300);
	heap_lines(&first, 70, 0);
	view = flame_beside(&both, &both);
	CHECK_EQ(base_at(&view, 20), 100);
	CHECK_EQ(base_at(&view, 30), 300);
	CHECK_EQ(view.gone.count, 0);
	flame_view_release(&view);
	view = flame_beside(&both, &first); /* which has no box for its only line */
	CHECK_EQ(base_at(&view, 20), 70);
	CHECK_EQ(base_at(&view, 30), 0);
	CHECK_EQ(view.gone.count, 0);
	flame_view_release(&view);
	view = flame_beside(&first, &both);
	CHECK_EQ((u64)box_of(&view, "parse", 2)->base, 400);
	CHECK_EQ(view.gone.count, 1);
	CHECK_EQ((u64)view.gone_total, 300);
	flame_view_release(&view);
	study_free(first.trace);
	study_free(both.trace);
}

TEST(flame_search, "a search counts each stack once, however often a name is on it")
{
	struct heap heap;
	struct flame_search found;
	struct flame_query query = {.metric = METRIC_BYTES,
				    .search = "/^gr.w$/",
				    .px = 100,
				    .x1 = 1};
	struct view_scope scope;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(flame_search_make(&found, &scope, &query, &heap.err), 0);
	CHECK_EQ(found.frames, 3);
	CHECK_EQ((u64)found.total, 390);
	CHECK_EQ((u64)found.whole, 500);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(selected, "a selection weighs what it selects, and has a peak of its own")
{
	struct heap heap;
	struct flame_view view;

	heap_plain(&heap);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES},
			"all | where size <= 50");
	CHECK_EQ((u64)view.total, 100);
	flame_view_release(&view);
	view = flame_of(&heap, (struct flame_query){.metric = METRIC_PEAK},
			"all | where size >= 100");
	CHECK_EQ((u64)view.total, 400); /* 100 + 300, before the first is freed */
	CHECK_EQ(view.at_ns, 20);
	flame_view_release(&view);
	study_free(heap.trace);
}

static struct timeline_view line_of(struct heap *heap, struct timeline_query query,
				    const struct query_window *window)
{
	struct view_scope scope = scope_of(heap, "all", window);
	struct timeline_view view;

	if (timeline_view_make(&view, &scope, &query, &heap->err) < 0)
		FAIL("%s", heap->err.text);
	view_scope_release(&scope);
	return view;
}

TEST(line, "a bin has the lowest, the highest and the last value, also of a peak inside of it")
{
	struct heap heap;
	struct timeline_view view;

	heap_plain(&heap);
	CHECK_EQ(model_duration_ns(heap.trace->model), 80);
	view = line_of(&heap, (struct timeline_query){.bins = 2, .top = 5}, NULL);
	CHECK_EQ(time_axis_end(&view.axis, 0), 40);
	CHECK_EQ((u64)view.total.max[0], 450);
	CHECK_EQ((u64)view.total.min[0], 0);
	CHECK_EQ((u64)view.total.last[0], 450); /* the free at 40 is in the second */
	CHECK_EQ((u64)view.total.max[1], 450);
	CHECK_EQ((u64)view.total.min[1], 90);
	CHECK_EQ((u64)view.total.last[1], 100);
	CHECK(view.total.exact);
	timeline_view_release(&view);
	/* A peak of one event is in every number of bins. */
	for (u32 bins = 1; bins <= 40; bins++) {
		u64 highest = 0;

		view = line_of(&heap, (struct timeline_query){.bins = bins, .top = 5}, NULL);
		for (u32 i = 0; i < bins; i++)
			if ((u64)view.total.max[i] > highest)
				highest = (u64)view.total.max[i];
		CHECK_EQ(highest, 450);
		timeline_view_release(&view);
	}
	study_free(heap.trace);
}

TEST(window, "a window begins with what was live before it")
{
	struct heap heap;
	struct timeline_view view;
	struct query_window window = {.from_ns = 45, .to_ns = 65};

	heap_plain(&heap);
	view = line_of(&heap, (struct timeline_query){.bins = 1, .top = 5}, &window);
	CHECK_EQ((u64)view.total.max[0], 390);
	CHECK_EQ((u64)view.total.min[0], 90);
	CHECK_EQ((u64)view.total.last[0], 90);
	timeline_view_release(&view);
	study_free(heap.trace);
}

TEST(series, "series are ranked by their peaks, the rest is one, and all add up to the total")
{
	struct heap heap;
	struct timeline_view view;

	heap_plain(&heap);
	view = line_of(&heap, (struct timeline_query){.by = BY_SIZE, .bins = 4, .top = 2}, NULL);
	CHECK_EQ(view.series.count, 2);
	CHECK_EQ(view.series.data[0].key, 256); /* 300 bytes */
	CHECK_EQ((u64)view.series.data[0].peak, 300);
	CHECK(view.has_other);
	for (u32 i = 0; i < 4; i++)
		CHECK_EQ((u64)(view.series.data[0].last[i] + view.series.data[1].last[i] +
			       view.other.last[i]),
			 (u64)view.total.last[i]);
	timeline_view_release(&view);
	view = line_of(
		&heap,
		(struct timeline_query){.by = BY_THREAD, .flow = FLOW_ALLOCS, .bins = 1, .top = 5},
		NULL);
	CHECK_EQ(view.series.count, 2);
	CHECK_EQ((u64)view.series.data[0].last[0], 3);
	CHECK_EQ((u64)view.series.data[1].last[0], 2);
	timeline_view_release(&view);
	study_free(heap.trace);
}

TEST(clocks, "bins are equal in time, also where the clocks do not run alike")
{
	struct heap heap = {.feed = feed_new()};
	struct time_axis axis;

	tell_clock(&heap.feed, 1000, 5000);
	tell_clock(&heap.feed, 2000, 105000);   /* 100 ns a tick */
	tell_clock(&heap.feed, 102000, 205000); /* 1 ns a tick */
	CHECK(time_axis_init(&axis, &heap.feed.model->clock, 0, 200000, 2000));
	for (u64 ticks = 1000; ticks < 102000; ticks += 7) {
		u64 ns = tick_clock_ns(&heap.feed.model->clock, ticks);

		CHECK_EQ((u64)time_axis_bin(&axis, ticks), ns * 2000 / 200000);
	}
	CHECK_EQ(time_axis_bin(&axis, 999999), 2000);
	time_axis_release(&axis);
	model_free(heap.feed.model);
}

TEST(rows, "points are sorted as asked for, and have their sums")
{
	struct heap heap;
	struct points_page page = {0};
	struct points_query_view query = {.sorts = {{POINT_BYTES, true}},
					  .sort_count = 1,
					  .limit = 2,
					  .spark = 4};
	struct view_scope scope;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(points_page_make(&page, &scope, &query, &heap.err), 0);
	CHECK_EQ(page.total, 5);
	CHECK_EQ(page.rows.count, 2);
	CHECK_STR(page.rows.data[0].function, "grow");
	CHECK_EQ((u64)page.rows.data[0].sums.bytes, 300);
	CHECK_EQ((u64)page.rows.data[0].sums.peak_bytes, 300);
	CHECK_EQ((u64)page.rows.data[0].sums.kept_bytes, 0);
	CHECK_EQ((u64)page.rows.data[0].sums.life_ticks, 40);
	CHECK_EQ(page.rows.data[0].sums.threads, 1);
	CHECK_EQ(page.rows.data[0].spark[1], 255); /* 20 to 40 ns */
	CHECK_EQ(page.rows.data[0].spark[0], 0);
	CHECK_STR(page.rows.data[1].function, "parse");
	points_page_release(&page);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(ties, "of points that are equal in what is asked for the larger comes first")
{
	struct heap heap;
	struct points_page page = {0};
	struct points_query_view query = {.sorts = {{POINT_THREADS, true}}, .sort_count = 1, .limit = 5};
	struct view_scope scope;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(points_page_make(&page, &scope, &query, &heap.err), 0);
	CHECK_EQ(page.rows.count, 5);
	for (u64 i = 1; i < page.rows.count; i++) {
		CHECK_EQ(page.rows.data[i].sums.threads, page.rows.data[0].sums.threads);
		CHECK(page.rows.data[i - 1].sums.bytes >= page.rows.data[i].sums.bytes);
	}
	points_page_release(&page);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(detail, "a point's detail has its sizes, lives, threads and who frees")
{
	struct heap heap;
	struct point_detail detail = {0};
	struct view_scope scope;
	u32 point;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	point = model_point_of(heap.trace->model, 4).index;
	CHECK_EQ(point_detail_make(&detail, &scope, (struct point_id){point}, &heap.err), 0);
	CHECK_EQ(detail.chunks, 1);
	CHECK_EQ(detail.median_size, 300);
	CHECK_EQ(detail.sizes.count[9], 1); /* 256 to 511 */
	CHECK_EQ(detail.lives.count[6], 1); /* 32 to 63 ns */
	CHECK_EQ(detail.frees.data[0].number, 1);
	CHECK_EQ(detail.free_sites.data[0].chunks, 1);
	point_detail_release(&detail);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(bars, "rows that are free again are used again in the packed lane")
{
	struct heap heap;
	struct chunks_view view = {0};
	struct chunks_query query = {.point = -1, .lane = LANE_PACKED, .to_ns = 80, .px = 100};
	struct view_scope scope;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(chunks_view_make(&view, &scope, &query, &heap.err), 0);
	CHECK_EQ(view.bars.count, 5);
	CHECK_EQ(view.rows, 3);
	CHECK_EQ(view.bars.data[3].row, 0); /* after the first, which was freed at 40 */
	CHECK_EQ(view.bars.data[4].row, 1);
	CHECK_EQ(view.bars.data[0].to_ns, 40);
	CHECK(view.bars.data[4].flags & BAR_ALIVE);
	chunks_view_release(&view);
	view = (struct chunks_view){0};
	query.lane = LANE_ROW;
	query.order = ORDER_SIZE;
	query.rows = 1;
	CHECK_EQ(chunks_view_make(&view, &scope, &query, &heap.err), 0);
	CHECK_EQ(view.bars.count, 1);
	CHECK_EQ(view.bars.data[0].size, 300);
	chunks_view_release(&view);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(density, "what is too much for bars is counted in cells")
{
	struct heap heap;
	struct chunks_view view = {0};
	struct chunks_query query = {.point = -1, .px = 64};
	struct view_scope scope;
	double most = 0;

	heap_begin(&heap);
	for (u32 i = 0; i < CHUNK_ROWS_MAX + 100; i++)
		tell_alloc(&heap.feed, HW_MALLOC, 2, 8);
	heap_end(&heap);
	query.to_ns = model_duration_ns(heap.trace->model);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(chunks_view_make(&view, &scope, &query, &heap.err), 0);
	CHECK(view.is_density);
	CHECK_EQ(view.width, 16);
	CHECK_EQ(view.height, DENSITY_HEIGHT);
	for (u32 row = 0; row < view.height; row++) /* none is freed: all live at the end */
		most += view.counts[row * view.width + view.width - 1];
	CHECK_EQ((u64)most, CHUNK_ROWS_MAX + 100);
	chunks_view_release(&view);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(matrix, "chunks are counted by who allocated and who freed them")
{
	static struct threads_view view;
	struct heap heap;
	struct view_scope scope;

	heap_plain(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(threads_view_make(&view, &scope, &heap.err), 0);
	CHECK_EQ(view.own, 2);
	CHECK_EQ(view.rows.data[0].thread, 0); /* 450 bytes */
	CHECK_EQ((u64)view.rows.data[0].peak_bytes, 450);
	CHECK_EQ((u64)view.rows.data[1].peak_bytes, 50);
	CHECK_EQ(view.matrix[0][0], 1);
	CHECK_EQ(view.matrix[0][1], 1);
	CHECK_EQ(view.matrix[0][THREAD_MATRIX + 1], 1);
	CHECK_EQ(view.matrix[1][THREAD_MATRIX + 1], 2);
	CHECK_EQ(view.foreign_frees, 1);
	threads_view_release(&view);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(thread_times, "the times of threads in the allocator add up to that of the program, and so do those of points")
{
	static struct threads_view view;
	struct call_costs costs;
	struct heap heap;
	struct view_scope scope;
	double points[8] = {0}, sum = 0;
	u64 at_ns = 0;

	heap_begin(&heap);
	for (u32 i = 0; i < 30; i++) {
		u64 chunk = tell_alloc(&heap.feed, i % 3 ? HW_MALLOC : HW_CALLOC, 2 + i % 2, 100);

		if (i % 2)
			tell_free(&heap.feed, HW_FREE, chunk, 100);
		tell_event(&heap.feed, (struct event){.kind = HW_DURATION, .aux = HW_MALLOC, .size = 3});
		tell_event(&heap.feed, (struct event){.kind = HW_DURATION, .aux = HW_FREE, .size = 5});
	}
	tell_event(&heap.feed, (struct event){.kind = HW_FREE, .chunk = NO_CHUNK, .address = 0x77});
	heap_end(&heap);
	call_costs_find(&costs, heap.feed.model);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(threads_view_make(&view, &scope, &heap.err), 0);
	CHECK_EQ((u64)(costs.all.ns + 0.5), 30 * 3 + 16 * 5);
	CHECK_EQ((u64)(view.rows.data[0].alloc_ns + 0.5), (u64)(costs.all.ns + 0.5));
	CHECK_EQ(view_weigh(&scope, METRIC_ALLOC_TIME, &at_ns, points, &heap.err), 0);
	for (u32 i = 0; i < 8; i++)
		sum += points[i];
	CHECK_EQ((u64)(sum + 0.5), (u64)(costs.all.ns + 0.5));
	threads_view_release(&view);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(memory, "memory at a moment has the chunks that are live then, and the holes between them")
{
	struct heap heap;
	struct memory_moment moment = {0};
	struct memory_regions regions = {0};
	struct memory_view picture = {0};
	struct memory_query query = {.base = 0x1000,
				     .bytes_per_pixel = 16,
				     .width = 8,
				     .height = 1};
	struct view_scope scope;

	heap_begin(&heap); /* addresses are 16 apart */
	for (u32 i = 0; i < 6; i++)
		tell_alloc(&heap.feed, HW_MALLOC, 2, 8);
	tell_free(&heap.feed, HW_FREE, 2, 8);
	tell_free(&heap.feed, HW_FREE, 3, 8);
	heap_end(&heap);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(memory_moment_make(&moment, &scope, 1000, &heap.err), 0);
	CHECK_EQ(moment.chunks.count, 4);
	CHECK_EQ(memory_regions_make(&regions, &moment, &heap.err), 0);
	CHECK_EQ(regions.rows.count, 1);
	CHECK_EQ(regions.rows.data[0].live_bytes, 32);
	CHECK_EQ(regions.rows.data[0].largest_free, 40);
	CHECK_EQ(regions.rows.data[0].free_bytes, 56);
	CHECK_EQ(regions.holes[3].count, 2); /* of 8 bytes */
	CHECK_EQ(regions.holes[3].bytes, 16);
	CHECK_EQ(regions.holes[5].count, 1);
	CHECK_EQ(regions.holes[5].bytes, 40);
	CHECK_EQ(memory_find(&moment, 0x1047)->number, 4);
	CHECK(memory_find(&moment, 0x1028) == NULL);
	CHECK(memory_find(&moment, 0xfff) == NULL);
	CHECK_EQ(memory_view_make(&picture, &scope, &moment, &query, &heap.err), 0);
	CHECK_EQ(picture.runs.count, 4);
	CHECK(picture.pixels[0] && picture.pixels[1] && !picture.pixels[2] && !picture.pixels[3] &&
	      picture.pixels[4] && !picture.pixels[6]);
	memory_view_release(&picture);
	vec_release(&regions.rows);
	memory_moment_release(&moment);
	view_scope_release(&scope);
	study_free(heap.trace);
}

TEST(patterns, "a pattern is a text in any case, or an expression between slashes")
{
	static const struct {
		const char *pattern, *name;
		int matches; /* -1 = refused */
	} rows[] = {
		{"vec", "std::Vector", 1},
		{"^vec", "vec", 0},
		{"/^vec/", "vector", 1},
		{"/^vec/", "Vector", 0},
		{"/^vec/i", "Vector", 1},
		{"", "anything", 1},
		{"/", "a/b", 1},
		{"//", "a//b", 1},
		{"/(/", "", -1},
		{"/(a)\\1/", "", -1},
		{"/(a{1,40}){1,40}/", "", -1},
		{"/q+++++++++++++++/", "", -1},
		{"<img", "<IMG src>", 1},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct view_pattern pattern;
		struct err err = {0};
		int status = view_pattern_init(&pattern, rows[i].pattern, &err);

		test_check((status == 0) == (rows[i].matches >= 0), __FILE__, __LINE__, "'%s'",
			   rows[i].pattern);
		if (status == 0)
			test_check(view_pattern_matches(&pattern, rows[i].name) == rows[i].matches,
				   __FILE__, __LINE__, "'%s' and '%s'", rows[i].pattern,
				   rows[i].name);
		view_pattern_release(&pattern);
	}
}

TEST(nothing, "a program without allocations has empty views")
{
	struct heap heap;
	struct flame_view flame;
	struct timeline_view line;
	struct points_page page = {0};
	struct points_query_view query = {.limit = 10};
	struct view_scope scope;

	heap_begin(&heap);
	heap_end(&heap);
	flame = flame_of(&heap, (struct flame_query){.metric = METRIC_BYTES}, "all");
	CHECK_EQ(flame.boxes.count, 0);
	line = line_of(&heap, (struct timeline_query){.by = BY_POINT, .bins = 3, .top = 3}, NULL);
	CHECK_EQ(line.series.count, 0);
	CHECK_EQ((u64)line.total.max[2], 0);
	scope = scope_of(&heap, "all", NULL);
	CHECK_EQ(points_page_make(&page, &scope, &query, &heap.err), 0);
	CHECK_EQ(page.total, 0);
	points_page_release(&page);
	timeline_view_release(&line);
	flame_view_release(&flame);
	view_scope_release(&scope);
	study_free(heap.trace);
}

/* main is called by _start, which is linked from the C library, and main itself has lines or not. */
static u64 files_of(const char *own)
{
	static const char *const functions[] = {"main", "_start", "__libc_start_main"};
	struct heap heap = {.feed = feed_new()};
	const struct source_table *table;
	u64 count;

	tell_module(&heap.feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_module(&heap.feed, 1, LIBRARY_BASE, 0, "/usr/lib/libc.so.6");
	tell_context(&heap.feed, 1, 0, pc_of(PROGRAM_BASE, 2));
	tell_context(&heap.feed, 2, 1, pc_of(LIBRARY_BASE, 3));
	tell_context(&heap.feed, 3, 2, pc_of(PROGRAM_BASE, 1));
	tell_thread(&heap.feed, 0);
	heap.symbols = named_table(functions, 3, heap.frames, heap.entries);
	heap.entries[2].module = 1;
	heap.frames[0].file = own;
	heap.frames[1].file = "../sysdeps/start.S";
	heap.frames[2].file = "../csu/libc-start.c";
	heap.frames[0].line = heap.frames[1].line = heap.frames[2].line = 10;
	tell_alloc(&heap.feed, HW_MALLOC, 3, 100);
	tell_alloc(&heap.feed, HW_MALLOC, 2, 100); /* by the C library itself */
	heap_end(&heap);
	table = view_source(heap.trace, &heap.err);
	if (!table)
		FAIL("%s", heap.err.text);
	count = table->files.count;
	CHECK(!count || strcmp(table->files.data[0].path, own) == 0);
	study_free(heap.trace);
	return count;
}

TEST(source, "source files are the program's: the C library's start code is none of them")
{
	CHECK_EQ(files_of("src/prog.c"), 1);
	CHECK_EQ(files_of(""), 0);
}
