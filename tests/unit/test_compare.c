/* SPDX-License-Identifier: MIT
 * Comparisons of hand-made recordings: how rows are matched, moments found, and clocks aligned. */
#include <stdlib.h>

#include "study/analysis/compare/compare.h"
#include "unit/test_analysis.h"

enum { MS = 1000000 };

/* One recording: functions of the program have the names of the side's table. Ticks are ns / 1000. */
struct recorded {
	struct feed feed;
	struct symbol_frame frames[16];
	struct symbol_entry entries[16];
	struct symbol_table symbols;
	struct stack_source source;
};

static void begin(struct recorded *self, const char *const *names, u32 count)
{
	self->feed = feed_new();
	tell_module(&self->feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_thread(&self->feed, 0);
	self->symbols = named_table(names, count, self->frames, self->entries);
}

/* Contexts first … first + count - 1: the functions, each called by the one before. */
static void tell_chain(struct recorded *self, u32 first, const u32 *functions, u32 count)
{
	for (u32 i = 0; i < count; i++)
		tell_context(&self->feed, first + i, i ? first + i - 1 : 0,
			     pc_of(PROGRAM_BASE, functions[i]));
}

static void end(struct recorded *self)
{
	tell_clock(&self->feed, self->feed.ticks + 1000, 5000 + (self->feed.ticks) * 1000);
	tell_end(&self->feed, IMAGE_EXITED);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
}

static struct comparison compared(struct recorded *a, struct recorded *b,
				  struct compare_query query)
{
	struct comparison found = {0};
	struct err err = {0};

	query.side[0].source = &a->source;
	query.side[1].source = &b->source;
	query.side[0].label = "a";
	query.side[1].label = "b";
	if (compare_find(&found, &query, &err) < 0)
		FAIL("%s", err.text);
	return found;
}

static void release(struct recorded *self) { model_free(self->feed.model); }

TEST(names, "stacks match by names from main on, without what compilers add")
{
	static const char *const old_names[] = {"_start", "main", "parse", "make", "other"};
	static const char *const new_names[] = {
		"boot", "other",       "make.constprop.0", "parse(int) [clone .cold]",
		"main", "parse.part.3"};
	static const u32 old_stack[] = {1, 2, 3, 4}, new_stack[] = {1, 5, 6, 3};
	struct recorded a = {0}, b = {0};
	struct comparison found;

	begin(&a, old_names, 5);
	tell_chain(&a, 1, old_stack, 4);
	tell_alloc(&a.feed, HW_MALLOC, 4, 100);
	end(&a);
	begin(&b, new_names, 6);
	tell_chain(&b, 1, new_stack, 4);
	tell_alloc(&b.feed, HW_MALLOC, 4, 160);
	end(&b);
	found = compared(&a, &b, (struct compare_query){.points = 10});
	CHECK_EQ(found.rows.count, 1);
	CHECK_EQ(found.rows.data[0].status, COMPARE_GREW);
	CHECK_EQ(found.rows.data[0].side[0].value[COMPARE_BYTES], 100);
	CHECK_EQ(found.rows.data[0].side[1].value[COMPARE_BYTES], 160);
	CHECK_EQ(found.matched[0], 100);
	comparison_release(&found);
	release(&a);
	release(&b);
}

TEST(recursion, "recursion is folded on demand only, also through others")
{
	static const char *const names[] = {"main", "walk", "visit", "make"};
	static const u32 once[] = {1, 2, 3, 4}, twice[] = {1, 2, 3, 2, 3, 4};
	struct recorded a = {0}, b = {0};

	begin(&a, names, 4);
	tell_chain(&a, 1, once, 4);
	tell_alloc(&a.feed, HW_MALLOC, 4, 10);
	end(&a);
	begin(&b, names, 4);
	tell_chain(&b, 1, twice, 6);
	tell_alloc(&b.feed, HW_MALLOC, 6, 10);
	end(&b);
	for (u32 fold = 0; fold < 2; fold++) {
		struct comparison found =
			compared(&a, &b, (struct compare_query){.fold_recursion = fold});

		CHECK_EQ(found.rows.count, fold ? 1 : 2);
		CHECK_EQ(found.states[COMPARE_SAME], fold);
		CHECK_EQ(found.states[COMPARE_NEW], !fold);
		CHECK_EQ(found.states[COMPARE_GONE], !fold);
		comparison_release(&found);
	}
	release(&a);
	release(&b);
}

TEST(deep, "a stack of 200,000 frames is no matter of recursion")
{
	static const char *const names[] = {"main", "walk"};
	struct recorded a = {0};
	struct comparison found;
	u32 depth = 200000;

	begin(&a, names, 2);
	tell_context(&a.feed, 1, 0, pc_of(PROGRAM_BASE, 1));
	for (u32 i = 2; i <= depth; i++)
		tell_context(&a.feed, i, i - 1, pc_of(PROGRAM_BASE, 2));
	tell_alloc(&a.feed, HW_MALLOC, depth, 10);
	end(&a);
	found = compared(&a, &a, (struct compare_query){0});
	CHECK_EQ(found.states[COMPARE_SAME], 1);
	CHECK_EQ(found.nodes.count, depth + 1);
	comparison_release(&found);
	release(&a);
}

static const char *const plain_names[] = {"main", "make"};

/* 100 bytes from 0 ms on, 300 more from peak_ms to peak_ms + 10, a mark "go" at mark_ms, 100 ms in all. */
static void humped(struct recorded *self, u64 peak_ms, u64 mark_ms)
{
	static const u32 stack[] = {1, 2};
	struct stream_name name = {.id = 1, .text = "go"};
	u64 chunk;

	begin(self, plain_names, 2);
	tell_chain(self, 1, stack, 2);
	told(&self->feed, self->feed.sink.name(self->feed.sink.self, &name, &self->feed.err));
	tell_alloc(&self->feed, HW_MALLOC, 2, 100);
	if (mark_ms < peak_ms)
		tell_event(&self->feed, (struct event){.ticks = 1000 + mark_ms * 1000,
						       .kind = HW_MARK,
						       .aux = HW_MARK_NAMED,
						       .address = 1});
	self->feed.ticks = 990 + peak_ms * 1000;
	chunk = tell_alloc(&self->feed, HW_MALLOC, 2, 300);
	self->feed.ticks = 990 + (peak_ms + 10) * 1000;
	tell_free(&self->feed, HW_FREE, chunk, 300);
	if (mark_ms > peak_ms)
		tell_event(&self->feed, (struct event){.ticks = 1000 + mark_ms * 1000,
						       .kind = HW_MARK,
						       .aux = HW_MARK_NAMED,
						       .address = 1});
	self->feed.ticks = 990 + 100000;
	tell_clock(&self->feed, 101000, 5000 + 100 * MS);
	tell_end(&self->feed, IMAGE_EXITED);
	self->source = (struct stack_source){.model = self->feed.model, .symbols = &self->symbols};
}

/* Common time, in ms, at which the side's line is first at its highest. */
static i64 hump_ms(const struct comparison *found, u32 side)
{
	for (u64 i = 0; i < found->lines.count; i++)
		if (found->lines.data[i].known[side] && found->lines.data[i].bytes[side] == 400)
			return found->lines.data[i].time_ns / MS;
	return -1000;
}

TEST(clocks, "heap lines are aligned at start, peak or marks, and lose no peak")
{
	static const struct {
		enum compare_align align;
		i64 a, b, first, last;
	} rows[] = {
		{COMPARE_ALIGN_START, 20, 60, 0, 100},
		{COMPARE_ALIGN_PEAK, 0, 0, -60, 80},
		/* marks at 10 ms of A and 50 ms of B; from there on at the same speed */
		{COMPARE_ALIGN_MARKS, 20, 20, 0, 100},
	};
	struct recorded a = {0}, b = {0};

	humped(&a, 20, 10);
	humped(&b, 60, 50);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct comparison found =
			compared(&a, &b,
				 (struct compare_query){.align = rows[i].align, .points = 400});
		i64 ha = hump_ms(&found, 0) - rows[i].a, hb = hump_ms(&found, 1) - rows[i].b;
		i64 low = found.lines.data[0].time_ns / MS - rows[i].first;
		i64 high = found.lines.data[found.lines.count - 1].time_ns / MS - rows[i].last;

		if (!CHECK(ha >= -5 && ha <= 1) || !CHECK(hb >= -5 && hb <= 1) ||
		    !CHECK(low >= -1 && low <= 1) || !CHECK(high >= -2 && high <= 1))
			fprintf(stderr, "# row %u: %d %d %d %d\n", i, (int)ha, (int)hb, (int)low,
				(int)high);
		comparison_release(&found);
	}
	release(&a);
	release(&b);
}

TEST(moments, "moments are told by times, names and numbers")
{
	static const struct {
		const char *word;
		int status;
		enum compare_moment_kind kind;
		u64 ticks;
	} rows[] = {
		{"20ms", 0, MOMENT_TIME, 21000},
		{"0.02", 0, MOMENT_TIME, 21000},
		{"20 ms", 0, MOMENT_TIME, 21000},
		{"20000us", 0, MOMENT_TIME, 21000},
		{"20000000ns", 0, MOMENT_TIME, 21000},
		{"peak", 0, MOMENT_PEAK, 21000},
		{"go", 0, MOMENT_MARK, 11000},
		{"go@1", 0, MOMENT_MARK, 11000},
		{"end", 0, MOMENT_END, 101000},
		{"go@2", ERR_USAGE, 0, 0},
		{"5h", ERR_USAGE, 0, 0},
		{"", ERR_USAGE, 0, 0},
		{"-1s", ERR_USAGE, 0, 0},
		{"1e3s", ERR_USAGE, 0, 0},
		{"20 parsecs", ERR_USAGE, 0, 0},
		{"#1", ERR_USAGE, 0, 0},
		{"snapshot0", ERR_USAGE, 0, 0},
		{"nan", ERR_USAGE, 0, 0},
	};
	struct recorded a = {0};

	humped(&a, 20, 10);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct compare_moment moment;
		struct err err = {0};
		int status = compare_moment_find(a.feed.model, rows[i].word, &moment, &err);
		bool right = CHECK_EQ(status, rows[i].status);

		if (right && status == 0)
			right = CHECK_EQ(moment.kind, rows[i].kind) &&
				(rows[i].kind == MOMENT_TIME
					 ? CHECK(moment.ticks >= rows[i].ticks &&
						 moment.ticks <= rows[i].ticks + 1)
					 : CHECK_EQ(moment.ticks, rows[i].ticks));
		if (!right)
			fprintf(stderr, "# '%s': %s\n", rows[i].word, err.text);
	}
	release(&a);
}

TEST(result, "the result has all that a page shows")
{
	struct recorded a = {0}, b = {0};
	struct comparison found;
	struct result *result;
	struct err err = {0};

	humped(&a, 20, 10);
	humped(&b, 60, 50);
	found = compared(&a, &b, (struct compare_query){.points = 100, .list_same = true});
	result = compare_result(&found, &err);
	if (!result)
		FAIL("%s", err.text);
	CHECK_STR(result_field(result, "time_map")->text, "start");
	CHECK_EQ(result->parts.count, 3);
	CHECK_EQ(number(result->parts.data[0], "peak.a"), 400);
	CHECK_EQ(result_field(result->parts.data[0], "bytes.delta")->integer, 0);
	CHECK_STR(cell(result->parts.data[1], 0, "status")->text, "same");
	CHECK_EQ(cell(result->parts.data[1], 0, "b_peak")->number, 400);
	CHECK_EQ(cell(result->parts.data[1], 0, "stack")->stack->count, 2);
	CHECK(result_rows(result->parts.data[2]) >= 99);
	result_free(result);
	comparison_release(&found);
	release(&a);
	release(&b);
}
