/* SPDX-License-Identifier: MIT
 * Points that grow until the end of the run, and those that only seem to. */
#include <stdio.h>

#include "study/analysis/leaks/growth.h"
#include "unit/test_analysis.h"

/* A run of 64 steps of 1 s; ticks are ns / 1000. Two samples lie on each step's ends. */
enum { STEPS = 64, STEP_TICKS = 1000000, KIB = 1024, CHUNK = 4 * KIB };

/* Live KiB of the point at the end of step i, of STEPS. */
struct shape {
	const char *name;
	i64 (*live_kib)(u32 step);
	bool grows;
	u64 per_s; /* that must be found, ± 5 % */
};

static i64 linear(u32 i) { return 16 * (i64)i; }
static i64 linear_freed_at_exit(u32 i) { return i + 1 < STEPS ? 16 * (i64)i : 0; }
static i64 linear_torn_down(u32 i) { return i + 4 < STEPS ? 16 * (i64)i : 16 * (STEPS - 1 - (i64)i); }
static i64 noisy(u32 i) { return 16 * (i64)i + (i % 3 == 1 ? 24 : 0); }
static i64 start_up(u32 i) { return i < STEPS / 2 ? 40 * (i64)i : 40 * STEPS / 2; }
static i64 constant(u32 i) { return i ? 800 : 0; }
static i64 sawtooth(u32 i) { return 16 * (i64)(i % 8); }
static i64 one_step(u32 i) { return i < 46 ? 100 : 4000; }
static i64 two_steps(u32 i) { return i < 43 ? 100 : i < 54 ? 2000 : 4000; }
static i64 falling(u32 i) { return 16 * (i64)(STEPS - i); }
static i64 little(u32 i) { return i; }
static i64 late(u32 i) { return i < 36 ? 0 : 32 * (i64)(i - 36); }

static const struct shape shapes[] = {
	{"a line", linear, true, 16 * KIB},
	{"a line that is freed at exit", linear_freed_at_exit, true, 16 * KIB},
	{"a line that is torn down in the end", linear_torn_down, true, 16 * KIB},
	{"a line with noise", noisy, true, 16 * KIB},
	{"growth after the middle", late, true, 0},
	{"start-up", start_up, false, 0},
	{"a constant", constant, false, 0},
	{"a sawtooth", sawtooth, false, 0},
	{"one step up", one_step, false, 0},
	{"two steps up", two_steps, false, 0},
	{"shrinking", falling, false, 0},
	{"growth below the limit", little, false, 0},
};

/* Tells events until the live chunks of the point are those of the shape at this step. */
static void tell_step(struct feed *feed, const struct shape *shape, u32 step, u64 *live,
		      u64 *live_count)
{
	u64 want = (u64)shape->live_kib(step) / (CHUNK / KIB);

	feed->ticks = 1000 + (u64)step * STEP_TICKS + STEP_TICKS / 2;
	while (*live_count > want)
		tell_free(feed, HW_FREE, live[--*live_count], CHUNK);
	while (*live_count < want)
		live[(*live_count)++] = tell_alloc(feed, HW_MALLOC, 1, CHUNK);
}

static struct feed told_shape(const struct shape *shape)
{
	static u64 live[1 << 14];
	struct feed feed = feed_new();
	u64 live_count = 0;

	tell_functions(&feed, 2);
	for (u32 i = 0; i < STEPS; i++) {
		tell_step(&feed, shape, i, live, &live_count);
		/* something else goes on: 100 allocations a step */
		for (u32 k = 0; k < 100; k++)
			tell_free(&feed, HW_FREE, tell_alloc(&feed, HW_MALLOC, 2, 10), 10);
	}
	feed.ticks = 1000 + (u64)STEPS * STEP_TICKS - 10;
	tell_clock(&feed, 1000 + (u64)STEPS * STEP_TICKS, 5000 + (u64)STEPS * 1000000000);
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

static struct growth_table grown(struct feed *feed, const struct growth_query *query)
{
	struct growth_table table = {0};

	told(feed, growth_find(feed->model, query, NULL, &table, &feed->err));
	return table;
}

TEST(shapes, "growth until the end is found, and nothing else is taken for it")
{
	struct growth_query query = growth_defaults();

	for (u32 i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct feed feed = told_shape(&shapes[i]);
		struct growth_table table = grown(&feed, &query);
		double per_s = table.rows.count ? table.rows.data[0].bytes_per_s : 0;

		if (!CHECK_EQ(table.rows.count, shapes[i].grows))
			fprintf(stderr, "# %s\n", shapes[i].name);
		if (shapes[i].per_s)
			CHECK(per_s > 0.95 * (double)shapes[i].per_s &&
			      per_s < 1.05 * (double)shapes[i].per_s);
		CHECK(table.not_judged == NULL);
		growth_table_release(&table);
		model_free(feed.model);
	}
}

TEST(per_allocations, "the slope is also told by allocations of the whole program")
{
	struct growth_query query = growth_defaults();
	struct feed feed = told_shape(&shapes[0]);
	struct growth_table table = grown(&feed, &query);
	struct stack_source source = {.model = feed.model};
	struct result *result = growth_result(&source, &table, 0, &feed.err);
	u64 per_1000 = cell(result, 0, "bytes_per_1000_allocations")->number;

	/* 16 KiB in 104 allocations */
	CHECK(per_1000 > 150 * KIB && per_1000 < 165 * KIB);
	CHECK_EQ(cell(result, 0, "point")->number, 1); /* the other was there first */
	CHECK(cell(result, 0, "trend")->real > 0.98);
	result_free(result);
	growth_table_release(&table);
	model_free(feed.model);
}

TEST(thresholds, "each threshold is an option")
{
	static const struct {
		u32 shape;
		u64 min_bytes;
		double trend;
		u64 min_ns, rows;
		bool judged;
	} rows[] = {
		{0, 1 << 20, 0.75, 0, 0, true},  /* grows by 512 KiB only */
		{11, 1 << 10, 0.75, 0, 1, true}, /* little, but enough now */
		{8, 64 << 10, 0.3, 0, 1, true},  /* one step is enough of a trend now */
		{3, 64 << 10, 1, 0, 0, true},    /* noise is not allowed */
		{0, 64 << 10, 0.75, 65ull * 1000000000, 0, false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct growth_query query = {.steps = STEPS,
					     .min_bytes = rows[i].min_bytes,
					     .trend = rows[i].trend,
					     .min_ns = rows[i].min_ns};
		struct feed feed = told_shape(&shapes[rows[i].shape]);
		struct growth_table table = grown(&feed, &query);

		if (!CHECK_EQ(table.rows.count, rows[i].rows))
			fprintf(stderr, "# row %u\n", i);
		CHECK_EQ(table.not_judged == NULL, rows[i].judged);
		growth_table_release(&table);
		model_free(feed.model);
	}
}

TEST(empty, "a run without events is no growth and no error")
{
	struct growth_query query = growth_defaults();
	struct feed feed = feed_new();
	struct growth_table table;

	tell_clock(&feed, 1000 + (u64)STEPS * STEP_TICKS, 5000 + (u64)STEPS * 1000000000);
	feed.ticks = 1000 + (u64)STEPS * STEP_TICKS;
	tell_end(&feed, IMAGE_EXITED);
	table = grown(&feed, &query);
	CHECK_EQ(table.rows.count, 0);
	growth_table_release(&table);
	model_free(feed.model);
}

TEST(any_time, "times of a damaged trace end the sampling, however late they are")
{
	static const u64 jumps[] = {1, 1ull << 40, 1ull << 57, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
	struct feed feed = feed_new();

	for (u32 i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		struct growth_samples *samples = growth_samples_new(feed.model);

		CHECK(growth_samples_take(samples, 5000));
		CHECK(growth_samples_take(samples, jumps[i]));
		CHECK(growth_samples_take(samples, UINT64_MAX));
		growth_samples_finish(samples);
		growth_samples_free(samples);
	}
	model_free(feed.model);
}
