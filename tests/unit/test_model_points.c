/* SPDX-License-Identifier: MIT
 * Analyses over hand-made models: totals, ranking of points, groups, caveats. */
#include "study/analysis/places/group.h"
#include "study/analysis/report/points.h"
#include "study/analysis/summary/summary.h"
#include "study/analysis/summary/temporary.h"
#include "unit/test_analysis.h"

/* Three points: 1 churns, 2 keeps, 3 makes the peak. */
static struct feed three_points(void)
{
	struct feed feed = feed_new();
	struct stream_clock pair = {.ticks = 2000, .ns = 6000}; /* 1 ns per tick */
	u64 a, big;

	tell_module(&feed, 0, 0x100000, 0, "/bin/prog");
	for (u32 i = 1; i <= 3; i++)
		tell_context(&feed, i, 0, 0x100000 + 0x10 * i + 1);
	for (u32 i = 0; i < 5; i++) {
		a = tell_alloc(&feed, HW_MALLOC, 1, 10);
		tell_free(&feed, HW_FREE, a, 10);
	}
	tell_alloc(&feed, HW_MALLOC, 2, 30);
	tell_alloc(&feed, HW_MALLOC, 2, 30);
	big = tell_alloc(&feed, HW_CALLOC, 3, 500);
	a = tell_alloc(&feed, HW_MALLOC, 1, 1);
	tell_free(&feed, HW_FREE, big, 500); /* one other between */
	tell_free(&feed, HW_FREE, a, 1);
	told(&feed, feed.sink.clock(feed.sink.self, &pair, &feed.err));
	return feed;
}

static struct result *ranked(struct feed *feed, enum points_by by, u64 top, u64 slack)
{
	struct stack_source source = {.model = feed->model};
	struct points_query query = {.by = by, .top = top, .temporary_slack = slack};
	struct result *table = analyse_points(&source, &query, &feed->err);

	if (!table)
		FAIL("%s", feed->err.text);
	return table;
}

TEST(ranking, "each measure ranks the points by its own numbers")
{
	static const struct {
		enum points_by by;
		u64 rows, point, value;
		const char *column;
	} rows[] = {
		{POINTS_BY_BYTES, 3, 2, 500, "bytes"},
		{POINTS_BY_PEAK, 3, 2, 500, "at_peak_bytes"},
		{POINTS_BY_KEPT, 1, 1, 60, "kept_bytes"},
		{POINTS_BY_TEMPORARY, 1, 0, 6, "temporary"},
		{POINTS_BY_ALLOCATIONS, 3, 0, 6, "allocations"},
	};
	struct feed feed = three_points();

	tell_end(&feed, IMAGE_EXITED);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct result *table = ranked(&feed, rows[i].by, 0, 0);

		CHECK_EQ(result_rows(table), rows[i].rows);
		CHECK_EQ(cell(table, 0, "point")->number, rows[i].point);
		CHECK_EQ(cell(table, 0, rows[i].column)->number, rows[i].value);
		CHECK_STR(table->columns.data[0].name, rows[i].column);
		result_free(table);
	}
	model_free(feed.model);
}

TEST(shares_and_top, "shares are of all points also when only the first are shown")
{
	struct feed feed = three_points();
	struct result *table;

	tell_end(&feed, IMAGE_EXITED);
	table = ranked(&feed, POINTS_BY_BYTES, 1, 0);
	CHECK_EQ(result_rows(table), 1);
	CHECK(cell(table, 0, "share")->real > 0.818 &&
	      cell(table, 0, "share")->real < 0.819); /* 500/611 */
	CHECK_EQ(cell(table, 0, "stack")->stack->count, 1);
	CHECK_STR(cell(table, 0, "stack")->stack->frames[0].module, "/bin/prog");
	CHECK_EQ(cell(table, 0, "stack")->stack->frames[0].offset, 0x30);
	CHECK_STR(cell(table, 0, "call")->text, "calloc");
	result_free(table);
	model_free(feed.model);
}

TEST(slack, "a slack of one makes chunks temporary that one other allocation came between")
{
	struct feed feed = three_points();
	struct temporary_table temporary = {0};
	struct result *table;

	tell_end(&feed, IMAGE_EXITED);
	table = ranked(&feed, POINTS_BY_TEMPORARY, 0, 1);
	CHECK_EQ(result_rows(table), 2);
	CHECK_EQ(cell(table, 1, "point")->number, 2);
	CHECK_EQ(cell(table, 1, "temporary_bytes")->number, 500);
	result_free(table);
	told(&feed, temporary_count(feed.model, 1, &temporary, &feed.err));
	CHECK_EQ(temporary.chunks, 7);
	temporary_table_release(&temporary);
	model_free(feed.model);
}

TEST(summary_numbers, "the summary holds the totals, and says complete")
{
	struct feed feed = three_points();
	struct summary_query query = {0};
	struct stream_image_end end = {.ticks = feed.ticks,
				       .how = IMAGE_EXITED,
				       .value = 3,
				       .totals = {.allocations = 9,
						  .frees = 7,
						  .bytes = 611,
						  .peak_bytes = 561,
						  .kept_bytes = 60}};
	struct result *record;

	told(&feed, feed.sink.image_end(feed.sink.self, &end, &feed.err));
	record = analyse_summary(feed.model, &query, &feed.err);
	CHECK_EQ(number(record, "allocations"), 9);
	CHECK_EQ(number(record, "frees"), 7);
	CHECK_EQ(number(record, "bytes"), 611);
	CHECK_EQ(number(record, "peak.bytes"), 561);
	CHECK_EQ(number(record, "peak.chunks"), 4);
	CHECK_EQ(number(record, "kept.bytes"), 60);
	CHECK_EQ(number(record, "kept.chunks"), 2);
	CHECK_EQ(number(record, "temporary"), 6);
	CHECK_EQ(number(record, "points"), 3);
	CHECK_EQ(number(record, "complete"), 1);
	CHECK_EQ(number(record, "duration_ns"), 160);
	CHECK_EQ(number(record, "calls.malloc"), 8);
	CHECK_EQ(number(record, "calls.calloc"), 1);
	CHECK_STR(result_field(record, "end.how")->text, "exited");
	CHECK_EQ(result_field(record, "end.value")->integer, 3);
	CHECK_EQ(record->caveats.count, 0);
	result_free(record);
	model_free(feed.model);
}

static bool has_caveat(const struct result *record, const char *part)
{
	for (u64 i = 0; i < record->caveats.count; i++)
		if (strstr(record->caveats.data[i], part))
			return true;
	return false;
}

TEST(totals_disagree, "a difference from what the monitor counted is a caveat")
{
	struct feed feed = three_points();
	struct summary_query query = {0};
	struct stream_image_end end = {.ticks = feed.ticks,
				       .how = IMAGE_EXITED,
				       .totals = {.allocations = 10,
						  .frees = 7,
						  .bytes = 611,
						  .peak_bytes = 561,
						  .kept_bytes = 60}};
	struct result *record;

	told(&feed, feed.sink.image_end(feed.sink.self, &end, &feed.err));
	record = analyse_summary(feed.model, &query, &feed.err);
	CHECK_EQ(record->caveats.count, 1);
	CHECK(has_caveat(record, "allocations: events add up to 9, but 10 were counted"));
	result_free(record);
	model_free(feed.model);
}

TEST(caveats, "damage, losses, faults, a missing end and sampling each leave a caveat and an "
	      "honest 'complete'")
{
	struct feed feed = three_points();
	struct trace_info info = {.images = 1,
				  .damaged_blocks = 1,
				  .damage = "block 17 at offset 99"};
	struct summary_query query = {.info = &info};
	struct result *record;

	model_finish(feed.model);
	record = analyse_summary(feed.model, &query, &feed.err);
	CHECK(has_caveat(record, "block 17 at offset 99"));
	CHECK(has_caveat(record, "truncated before the program's end"));
	CHECK_EQ(number(record, "complete"), 0);
	result_free(record);

	tell_image(&feed, 4096);
	tell_alloc(&feed, HW_MALLOC, 0, 10);
	feed.model->end.totals.faults[HW_FAULT_RING_FULL] = 12;
	feed.model->end.totals.lost_events = 12;
	feed.model->has_end = true;
	info = (struct trace_info){.images = 1, .complete = true};
	record = analyse_summary(feed.model, &query, &feed.err);
	CHECK(has_caveat(record, "12 events were lost"));
	CHECK(has_caveat(record, "12 events dropped because a ring stayed full"));
	CHECK(has_caveat(record, "sampled at one per 4.0 KiB"));
	CHECK_EQ(number(record, "complete"), 0);
	CHECK_EQ(number(record, "estimated"), 1);
	CHECK_EQ(number(record, "lost_events"), 12);
	result_free(record);
	model_free(feed.model);
}

TEST(exec_summary, "what an exec gave up is shown apart from kept")
{
	struct feed feed = three_points();
	struct summary_query query = {0};
	struct result *record, *table;

	tell_end(&feed, IMAGE_EXEC);
	record = analyse_summary(feed.model, &query, &feed.err);
	CHECK_EQ(number(record, "kept.bytes"), 0);
	CHECK_EQ(number(record, "exec.bytes"), 60);
	result_free(record);
	table = ranked(&feed, POINTS_BY_KEPT, 0, 0);
	CHECK_EQ(result_rows(table), 0);
	result_free(table);
	model_free(feed.model);
}

TEST(size_classes, "allocations fall into classes of powers of two, with zero apart")
{
	struct feed feed = feed_new();
	static const u64 sizes[] = {0, 1, 2, 3, 4, 7, 8, 1024, 2047};
	static const struct {
		u64 from, count;
	} want[] = {{0, 1}, {1, 1}, {2, 2}, {4, 2}, {8, 1}, {1024, 2}};
	struct result *table;

	for (u32 i = 0; i < sizeof sizes / sizeof *sizes; i++)
		tell_alloc(&feed, HW_MALLOC, 0, sizes[i]);
	tell_end(&feed, IMAGE_EXITED);
	table = analyse_sizes(feed.model, &feed.err);
	CHECK_EQ(result_rows(table), sizeof want / sizeof *want);
	for (u32 i = 0; i < result_rows(table); i++) {
		CHECK_EQ(cell(table, i, "from_bytes")->number, want[i].from);
		CHECK_EQ(cell(table, i, "allocations")->number, want[i].count);
	}
	result_free(table);
	model_free(feed.model);
}

static bool is_large(const struct chunk *chunk, const void *limit)
{
	return chunk->page->size[chunk->at] > *(const u64 *)limit;
}

static u64 lifetime(const struct chunk *chunk, const void *self)
{
	(void)self;
	return chunk->page->free_ticks[chunk->at]
		       ? chunk->page->free_ticks[chunk->at] - chunk->page->alloc_ticks[chunk->at]
		       : 0;
}

static u64 by_thread(const struct chunk *chunk, const void *self)
{
	(void)self;
	return chunk->page->alloc_thread[chunk->at];
}

TEST(group_kernel, "groups sum chunks, bytes, kept and a value of their own, behind a filter")
{
	struct feed feed = three_points();
	u64 limit = 5;
	struct group_query query = {.key = by_thread,
				    .keep = is_large,
				    .value = lifetime,
				    .self = &limit};
	struct group_table table = {0};
	const struct group_row *row;

	tell_end(&feed, IMAGE_EXITED);
	told(&feed, group_chunks(feed.model, &query, &table, &feed.err));
	CHECK_EQ(table.rows.count, 1);
	row = group_find(&table, 0);
	CHECK(row != NULL && group_find(&table, 1) == NULL);
	CHECK_EQ(row->chunks, 8);
	CHECK_EQ(row->bytes, 610);
	CHECK_EQ(row->max_size, 500);
	CHECK_EQ(row->kept_chunks, 2);
	CHECK_EQ(row->kept_bytes, 60);
	CHECK_EQ(row->value_sum, 5 * 10 + 20);
	CHECK_EQ(row->value_max, 20);
	group_table_release(&table);
	model_free(feed.model);
}

TEST(named_stacks,
     "symbols give names, inlined frames and lines; the depth limit counts what it hides")
{
	struct symbol_frame inner[] = {{.function = "std::allocator<int>::allocate(unsigned long)",
					.file = "a.h",
					.line = 7,
					.inlined = true},
				       {.function = "work", .file = "w.c", .line = 9}};
	struct symbol_entry entries[] = {
		{.image = 0, .module = 0, .address = 0x30, .frames = inner, .frame_count = 2}};
	struct symbol_table symbols = {.entries = entries, .count = 1};
	struct feed feed = three_points();
	struct stack_source source = {.model = feed.model, .symbols = &symbols};
	struct points_query query = {.by = POINTS_BY_BYTES};
	const struct result_stack *stack;
	struct result *table;

	tell_end(&feed, IMAGE_EXITED);
	table = analyse_points(&source, &query, &feed.err);
	stack = cell(table, 0, "stack")->stack;
	CHECK_EQ(stack->count, 2);
	CHECK(stack->frames[0].inlined && stack->frames[0].minor);
	CHECK_STR(stack->frames[1].function, "work");
	CHECK_EQ(stack->frames[1].line, 9);
	CHECK(!stack->frames[1].minor);
	result_free(table);
	source.depth = 1;
	source.fold = true; /* nothing to fold: one library frame alone */
	table = analyse_points(&source, &query, &feed.err);
	stack = cell(table, 0, "stack")->stack;
	CHECK_EQ(stack->count, 1);
	CHECK_EQ(stack->hidden, 1);
	result_free(table);
	model_free(feed.model);
}

TEST(library_frames, "functions of the languages' own libraries are known by their names")
{
	static const char *const library[] = {
		"operator new(unsigned long)", "void std::vector<int, std::allocator<int> >::grow<int>(int&&)",
		"alloc::vec::Vec<app::Foo>::push", "<alloc::vec::Vec<app::Foo>>::push", "hashbrown::raw::RawTable<(u64, app::Foo)>::reserve",
		"<hashbrown::map::HashMap<u64, app::Foo> as core::iter::traits::collect::Extend<(u64, app::Foo)>>::extend",
		"<u32 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "<T as core::convert::Into<U>>::into",
		"<[app::Foo]>::to_vec", "<str as alloc::borrow::ToOwned>::to_owned", "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec",
		"<&dyn core::ops::function::Fn<(), Output = i32> + core::marker::Sync as core::ops::function::FnOnce<()>>::call_once",
		"core::ops::function::FnOnce::call_once::<app::main::{closure_env#0}, ()>", "__rustc::__rust_alloc", "__rdl_realloc",
		"__gnat_malloc", "ada.text_io.put_line", "_gfortran_st_open", "libgfortran.so.5+0x20da6", "libgnat-12.so+0x10"};
	static const char *const own[] = {"main", "app::main", "<app::Foo as core::fmt::Display>::fmt", "<app::Foo>::new",
					  "<alloc::vec::Vec<u8> as app::Shape>::area", "<&app::Foo as core::ops::arith::Add>::add",
					  "<dyn app::Shape>::area", "my::table<std::string>::add(std::string)", "store.leak", "adapt", "<", "<a", "",
					  "<img src=x>", "<img onerror=x>::error"};

	for (size_t i = 0; i < sizeof library / sizeof *library; i++)
		CHECK_STR(function_is_minor(library[i], "") ? library[i] : "", library[i]);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		CHECK_STR(function_is_minor(own[i], "") ? "" : own[i], own[i]);
	CHECK(function_is_minor("store.numbers.append", "/usr/lib/gcc/x86_64-linux-gnu/12/adainclude/a-convec.adb"));
}

TEST(folded_stacks,
     "of neighbouring library frames the outermost stays and says how many it stands for")
{
	struct symbol_frame inner[] = {
		{.function = "std::__new_allocator<int>::allocate(unsigned long)", .file = ""},
		{.function = "void std::vector<int, std::allocator<int> >::grow<int>(int&&)",
		 .file = ""},
		{.function = "std::vector<int>::push_back(int const&)", .file = "v.h", .line = 3},
		{.function = "my::table<std::string>::add(std::string)",
		 .file = "t.cpp",
		 .line = 4},
		{.function = "std::for_each<int*, f>(int*, int*, f)", .file = ""},
		{.function = "main", .file = ""}};
	struct symbol_entry entries[] = {
		{.image = 0, .module = 0, .address = 0x30, .frames = inner, .frame_count = 6}};
	struct symbol_table symbols = {.entries = entries, .count = 1};
	struct feed feed = three_points();
	struct stack_source source = {.model = feed.model,
				      .symbols = &symbols,
				      .fold = true,
				      .depth = 3};
	struct points_query query = {.by = POINTS_BY_BYTES};
	const struct result_stack *stack;
	struct result *table;

	tell_end(&feed, IMAGE_EXITED);
	table = analyse_points(&source, &query, &feed.err);
	stack = cell(table, 0, "stack")->stack;
	CHECK_EQ(stack->count, 3);
	CHECK_EQ(stack->hidden, 1);
	CHECK_STR(stack->frames[0].function, "std::vector<int>::push_back(int const&)");
	CHECK_EQ(stack->frames[0].folded, 2);
	CHECK_STR(stack->frames[1].function, "my::table<std::string>::add(std::string)");
	CHECK(!stack->frames[1].minor);
	CHECK_EQ(stack->frames[2].folded, 0);
	result_free(table);
	model_free(feed.model);
}
