/* SPDX-License-Identifier: MIT
 * The three scores, computed by hand beside each run. */
#include <math.h>
#include <stdio.h>

#include "study/analysis/memoro/scores.h"
#include "unit/test_access.h"

/* Runs last 1,000,000 ns, so that groups split where allocations are more than 1,000 ns apart. */
enum { RUN = 1000000 };

static struct behaviour_table behaved(struct feed *feed)
{
	struct thresholds limits = THRESHOLDS_DEFAULT;
	struct behaviour_table table = {0};

	told(feed, behaviour_find(&(struct stack_source){.model = feed->model}, &limits, &table,
				  &feed->err));
	return table;
}

static struct feed begun(u32 points)
{
	struct feed feed = feed_new();

	tell_functions(&feed, points);
	return feed;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

#define CHECK_NEAR(a, b)                                                                           \
	do {                                                                                       \
		if (!CHECK(near((a), (b))))                                                        \
			fprintf(stderr, "# %.12g, not %.12g\n", (double)(a), (double)(b));         \
	} while (0)

/* ---- the paper's contrived examples ---- */

TEST(loop, "a chunk in a loop: the lifetime score is mean life by the life of the group")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	struct score_set scores;

	/* 100 turns of 500 ns: allocated, written at +50, read until +250, freed at +400 */
	for (u64 i = 0; i < 100; i++) {
		u64 at = 500 * i, chunk = alloc_at(&feed, at, HW_MALLOC, 1, 64);

		access_at(&feed, chunk, at + 50, at + 250, 8, 8, 64, 0);
		free_at(&feed, at + 400, chunk, 64);
	}
	end_at(&feed, RUN);
	table = behaved(&feed);
	scores = scores_of(&table.points[0]);
	CHECK_EQ(table.points[0].groups, 1);
	CHECK_NEAR(scores.value[SCORE_LIFETIME], 400.0 / (99 * 500 + 400));
	CHECK_NEAR(scores.value[SCORE_USAGE], 1);
	CHECK_NEAR(scores.value[SCORE_USEFUL], 200.0 / 400);
	/* floored: (0.01 · 1 · 0.5)^⅓ = 0.171, (1 − 0.171) · 12 = 9.95 */
	CHECK_EQ(severity_step(&scores), 10);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(vector, "a vector that grows: each array lives until the next one is filled")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	struct score_set scores;
	u64 before = 0;

	/* 16, 32, … 1024 bytes, a new one each 800 ns; the old one is freed 100 ns later */
	for (u64 i = 0; i < 7; i++) {
		u64 chunk = alloc_at(&feed, 800 * i, HW_NEW, 1, 16 << i);

		if (i > 0) {
			access_at(&feed, before, 800 * (i - 1), 800 * i + 100, 4, 4, 16 << (i - 1),
				  0);
			free_at(&feed, 800 * i + 100, before, 16 << (i - 1));
		}
		before = chunk;
	}
	access_at(&feed, before, 4800, 5600, 4, 4, 1024, 0);
	free_at(&feed, 5700, before, 1024);
	end_at(&feed, RUN);
	table = behaved(&feed);
	scores = scores_of(&table.points[0]);
	CHECK_EQ(table.points[0].groups, 1);
	CHECK_NEAR(scores.value[SCORE_LIFETIME], 900.0 / 5700); /* all seven live for 900 */
	CHECK_NEAR(scores.value[SCORE_USAGE], 1);
	CHECK_NEAR(scores.value[SCORE_USEFUL], (6 * 1 + 800.0 / 900) / 7);
	CHECK_EQ(table.points[0].growth.steps, 6);
	CHECK_EQ(table.points[0].growth.from_bytes, 16);
	CHECK_EQ(table.points[0].growth.to_bytes, 1024);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(four_of_400, "4 of 400 bytes: usage is 0.01, useful lifetime a tenth")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	struct score_set scores;

	for (u64 i = 0; i < 10; i++) {
		u64 at = 10000 * i, chunk = alloc_at(&feed, at, HW_MALLOC, 1, 400);

		access_at(&feed, chunk, at + 100, at + 200, 1, 1, 4, 0);
		free_at(&feed, at + 1000, chunk, 400);
	}
	end_at(&feed, RUN);
	table = behaved(&feed);
	scores = scores_of(&table.points[0]);
	CHECK_EQ(table.points[0].groups, 10); /* 10,000 ns apart */
	CHECK_NEAR(scores.value[SCORE_LIFETIME], 1);
	CHECK_NEAR(scores.value[SCORE_USAGE], 0.01);
	CHECK_NEAR(scores.value[SCORE_USEFUL], 0.1);
	/* (1 · 0.01 · 0.1)^⅓ = 0.1, 0.9 · 12 = 10.8 */
	CHECK_EQ(severity_step(&scores), 11);
	behaviour_table_release(&table);
	model_free(feed.model);
}

/* ---- definitions ---- */

TEST(useless, "a chunk that is never read or never written is useless, its bytes stay in the sum")
{
	static const struct {
		u64 reads, writes;
	} rows[] = {{0, 0}, {0, 9}, {9, 0}, {3, 3}};
	struct feed feed = begun(1);
	struct behaviour_table table;

	for (u32 i = 0; i < 4; i++)
		access_at(&feed, alloc_at(&feed, i, HW_MALLOC, 1, 100), 10, 20, rows[i].reads,
			  rows[i].writes, rows[i].reads + rows[i].writes ? 50 : 0, 0);
	end_at(&feed, RUN);
	table = behaved(&feed);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_USAGE], 50.0 / 400);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(hidden, "chunks whose sides or last access are not known count neither for nor against the point")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	u64 chunk = alloc_at(&feed, 0, HW_MALLOC, 1, 100);

	access_at(&feed, chunk, 100, 600, 1, 1, 50, 0);
	free_at(&feed, 1000, chunk, 100);
	chunk = alloc_at(&feed, 0, HW_MALLOC, 1, 100);
	access_at(&feed, chunk, 0, 10, 0, 9, 50, ACCESS_ESTIMATED | ACCESS_UNSIDED | ACCESS_LATER);
	free_at(&feed, 1000, chunk, 100);
	end_at(&feed, RUN);
	table = behaved(&feed);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_USAGE], 0.5);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_USEFUL], 0.5);
	CHECK_EQ(table.points[0].hits[INFERENCE_WRITE_ONLY].chunks, 0);
	CHECK_EQ(table.points[0].hits[INFERENCE_LATE].chunks, 0);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(covered, "where distinct bytes were measured they count, not the interval")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	u64 chunk = alloc_at(&feed, 0, HW_MALLOC, 1, 100);
	struct stream_access row = {.chunk = chunk,
				    .first_ticks = START + 1,
				    .last_ticks = START + 2,
				    .reads = 1,
				    .writes = 1,
				    .high = 100,
				    .covered_bytes = 2};

	told(&feed, feed.sink.accesses(feed.sink.self, &row, 1, &feed.err));
	end_at(&feed, RUN);
	table = behaved(&feed);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_USAGE], 0.02);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(unknown, "what was not measured is unknown, never 0 or 1")
{
	struct feed feed = begun(2);
	struct behaviour_table table;
	struct score_set scores;
	struct score_summary sum;
	u64 chunk;

	alloc_at(&feed, 0, HW_MALLOC, 1, 100); /* point 0: no accesses known */
	chunk = alloc_at(&feed, 1, HW_MALLOC, 2, 100);
	alloc_at(&feed, 2, HW_MALLOC, 2, 900); /* of point 1 one chunk of two */
	access_at(&feed, chunk, 5, 6, 1, 1, 50, 0);
	end_at(&feed, RUN);
	table = behaved(&feed);
	scores = scores_of(&table.points[0]);
	CHECK(scores.known[SCORE_LIFETIME]);
	CHECK(!scores.known[SCORE_USAGE] && !scores.known[SCORE_USEFUL]);
	CHECK_EQ(severity_step(&scores), 1); /* by the lifetime alone */
	CHECK_NEAR(scores_of(&table.points[1]).value[SCORE_USAGE], 0.5);
	sum = score_summarise(&table, SCORE_USAGE);
	CHECK_EQ(sum.points, 1);
	CHECK_NEAR(sum.mean, 0.5);
	CHECK_EQ(severity_step(&(struct score_set){0}), 0);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(spans, "a group ends with its last free, kept chunks live to the end, no span is a score of 1")
{
	struct feed feed = begun(3);
	struct behaviour_table table;
	u64 a = alloc_at(&feed, 0, HW_MALLOC, 1, 1), b = alloc_at(&feed, 500, HW_MALLOC, 1, 1), c;

	free_at(&feed, 600, b, 1);
	free_at(&feed, 2000, a, 1); /* the earlier one lives on */
	alloc_at(&feed, RUN / 2, HW_MALLOC, 2, 1);
	alloc_at(&feed, RUN / 2 + 1000, HW_MALLOC, 2, 1); /* exactly the gap: one group */
	c = alloc_at(&feed, RUN / 2 + 2000, HW_MALLOC, 3, 1);
	free_at(&feed, RUN / 2 + 2000, c, 1);
	end_at(&feed, RUN);
	table = behaved(&feed);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_LIFETIME], (2000 + 100) / 2.0 / 2000);
	CHECK_EQ(table.points[1].groups, 1);
	CHECK_NEAR(scores_of(&table.points[1]).value[SCORE_LIFETIME],
		   (500000 + 499000) / 2.0 / 500000);
	CHECK_NEAR(scores_of(&table.points[2]).value[SCORE_LIFETIME], 1);
	CHECK(!scores_of(&table.points[2]).known[SCORE_USEFUL]);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(gap, "the distance that splits groups is an option")
{
	struct thresholds limits = THRESHOLDS_DEFAULT;
	struct feed feed = begun(1);
	struct behaviour_table table = {0};

	for (u64 i = 0; i < 5; i++)
		free_at(&feed, 2000 * i + 10, alloc_at(&feed, 2000 * i, HW_MALLOC, 1, 1), 1);
	end_at(&feed, RUN);
	limits.group_gap = 0.01;
	told(&feed, behaviour_find(&(struct stack_source){.model = feed.model}, &limits, &table,
				   &feed.err));
	CHECK_EQ(table.points[0].groups, 1);
	CHECK_NEAR(table.points[0].group_scores, 10.0 / 8010);
	behaviour_table_release(&table);
	table = behaved(&feed);
	CHECK_EQ(table.points[0].groups, 5);
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(steps, "severity is one of twelve steps")
{
	static const struct {
		double score;
		u32 step;
	} rows[] = {{1, 1},   {0.95, 1},  {0.9, 2},   {0.75, 4},
		    {0.5, 7}, {0.25, 10}, {0.01, 12}, {0, 12}};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct score_set scores = {.value = {rows[i].score}, .known = {true}};

		if (!CHECK_EQ(severity_step(&scores), rows[i].step))
			fprintf(stderr, "# %g\n", rows[i].score);
	}
}

TEST(global, "global scores: geometric means with a floor, variance, and weighted means")
{
	struct feed feed = begun(2);
	struct behaviour_table table;
	struct score_summary sum;

	/* usage 1 in three chunks of 10 bytes; usage 0 in one chunk of 70 */
	for (u64 i = 0; i < 3; i++)
		access_at(&feed, alloc_at(&feed, i, HW_MALLOC, 1, 10), 10, 20, 1, 1, 10, 0);
	access_at(&feed, alloc_at(&feed, 3, HW_MALLOC, 2, 70), 10, 20, 0, 1, 70, 0);
	end_at(&feed, RUN);
	table = behaved(&feed);
	sum = score_summarise(&table, SCORE_USAGE);
	CHECK_EQ(sum.points, 2);
	CHECK_NEAR(sum.mean, 0.1); /* √(1 · 0.01) */
	CHECK_NEAR(sum.variance, 0.25);
	CHECK_NEAR(sum.mean_by_allocations, pow(0.01, 1.0 / 4));
	CHECK_NEAR(sum.mean_by_bytes, pow(0.01, 70.0 / 100));
	behaviour_table_release(&table);
	model_free(feed.model);
}

TEST(result, "the result has null where a score is unknown, and says why")
{
	struct feed feed = begun(1);
	struct stack_source source = {.model = feed.model};
	struct scores_query query = {.thresholds = THRESHOLDS_DEFAULT};
	struct result *result;

	alloc_at(&feed, 0, HW_MALLOC, 1, 8);
	end_at(&feed, RUN);
	result = analyse_scores(&source, &query, &feed.err);
	if (!result)
		FAIL("%s", feed.err.text);
	CHECK(result_field(result, "lifetime.mean")->known);
	CHECK(!result_field(result, "usage.mean")->known);
	CHECK(!result_field(result, "access")->known);
	CHECK(result->caveats.count >= 1);
	CHECK_EQ(cell(result->parts.data[0], 0, "severity")->number, 1);
	CHECK(!cell(result->parts.data[0], 0, "usage")->known);
	result_free(result);
	model_free(feed.model);
}

TEST(nothing, "a program that allocates nothing has no scores")
{
	struct feed feed = begun(0);
	struct stack_source source = {.model = feed.model};
	struct scores_query query = {.thresholds = THRESHOLDS_DEFAULT};
	struct result *result;

	end_at(&feed, RUN);
	result = analyse_scores(&source, &query, &feed.err);
	if (!result)
		FAIL("%s", feed.err.text);
	CHECK(!result_field(result, "lifetime.mean")->known);
	CHECK_EQ(result_rows(result->parts.data[0]), 0);
	result_free(result);
	model_free(feed.model);
}

TEST(plain, "of what code without instrumentation allocates for itself no use is known")
{
	struct feed feed = begun(1);
	struct behaviour_table table;
	u64 chunk;

	tell_context(&feed, 2, 1, pc_of(LIBRARY_BASE, 1));
	told(&feed, feed.sink.note(feed.sink.self, "access_uninstrumented", "/usr/lib/libhelp.so.1",
				   &feed.err));
	for (u32 context = 1; context <= 2; context++) {
		chunk = alloc_at(&feed, 0, HW_MALLOC, context, 10);
		access_at(&feed, chunk, 10, 20, 1, 1, 5, 0);
		free_at(&feed, 30, chunk, 10);
	}
	end_at(&feed, RUN);
	table = behaved(&feed);
	CHECK_NEAR(scores_of(&table.points[0]).value[SCORE_USAGE], 0.5);
	CHECK(table.points[0].is_lower_bound);
	CHECK(!scores_of(&table.points[1]).known[SCORE_USAGE]);
	CHECK(!scores_of(&table.points[1]).known[SCORE_USEFUL]);
	CHECK_NEAR(scores_of(&table.points[1]).value[SCORE_LIFETIME], 1);
	CHECK_EQ(table.whole.measured.chunks, 1);
	behaviour_table_release(&table);
	model_free(feed.model);
}
