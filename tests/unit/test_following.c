/* SPDX-License-Identifier: MIT
 * What is followed before all is known: lives before the clock's rate is, rows that come late, a
 * follower that gives up. */
#include "study/open/following.h"
#include "unit/test_analysis.h"

static struct feed followed(struct following *following, bool forgets)
{
	struct feed feed = {.model = model_new()};

	following_begin(following, feed.model, forgets);
	feed.sink = model_sink(feed.model);
	tell_image(&feed, 0);
	tell_functions(&feed, 2);
	return feed;
}

static void tell_life(struct feed *feed, u64 ticks)
{
	u64 chunk = tell_alloc(feed, HW_MALLOC, 1, 64);

	feed->ticks += ticks - 10;
	tell_free(feed, HW_FREE, chunk, 64);
}

/* Ticks are ns until half of the run, then 1/1,000 longer: 0.05 % on average. */
TEST(short_lives, "which lives are short is decided by the rate of the whole run")
{
	static const u64 lives[] = {1000,    900000,  999000,   999400,   999700,
				    1000000, 1000500, 20000000, 100000000};
	const struct thresholds limits = THRESHOLDS_DEFAULT;

	for (u32 forgets = 0; forgets < 2; forgets++) {
		struct following following;
		struct feed feed = followed(&following, forgets);
		struct behaviour_table found = {0};
		struct growth_samples *growth = NULL;
		u64 half;

		for (u32 i = 0; i < sizeof lives / sizeof *lives; i++)
			tell_life(&feed, lives[i]);
		half = feed.ticks - 1000;
		tell_clock(&feed, feed.ticks, 5000 + half);
		for (u32 i = 0; i < sizeof lives / sizeof *lives; i++)
			tell_life(&feed, lives[i]);
		tell_clock(&feed, 1000 + 2 * half, 5000 + 2 * half + half / 1000);
		tell_end(&feed, IMAGE_EXITED);
		CHECK(following_take(&following, &found, &growth));
		/* 999,400 ticks are 0.9999 ms, 999,700 are 1.0002 */
		CHECK_EQ(found.points[0].hits[INFERENCE_SHORT].chunks, 2 * 4);
		CHECK_EQ(found.points[0].short_ticks, 2 * (1000 + 900000 + 999000 + 999400));
		behaviour_table_release(&found);
		growth_samples_free(growth);
		if (!forgets) {
			told(&feed, behaviour_begin(feed.model, &limits, &found, &feed.err));
			CHECK_EQ(found.points[0].hits[INFERENCE_SHORT].chunks, 2 * 4);
			behaviour_table_release(&found);
		}
		following_release(&following);
		model_free(feed.model);
	}
}

static void tell_usage(struct feed *feed, u64 ticks)
{
	struct stream_usage usage = {.ticks = ticks, .rss_bytes = 1 << 20};

	told(feed, feed->sink.usage(feed->sink.self, &usage, &feed->err));
}

TEST(late_rows,
     "what was live at a row is exact if it comes in time, and else a lower bound, which is said")
{
	struct following following;
	struct feed feed = followed(&following, true);
	u64 chunk, early;

	tell_alloc(&feed, HW_MALLOC, 1, 100);
	tell_usage(&feed, feed.ticks);
	early = feed.ticks;
	chunk = tell_alloc(&feed, HW_MALLOC, 2, 1000);
	CHECK(feed.model->usage_live.count == 1 && !feed.model->live_late);
	CHECK_EQ(feed.model->usage_live.data[0], 100);
	tell_free(&feed, HW_FREE, chunk, 1000);
	feed.ticks += 1000000;
	tell_alloc(&feed, HW_MALLOC, 2, 5000);
	tell_usage(&feed, early + 5);
	tell_alloc(&feed, HW_MALLOC, 2, 5000);
	CHECK(feed.model->usage_live.count == 2 && feed.model->live_late);
	CHECK(feed.model->usage_live.data[1] <= 100);
	tell_end(&feed, IMAGE_EXITED);
	following_release(&following);
	model_free(feed.model);
}

TEST(gives_up, "what cannot be followed ends the following, and a load only if it forgets")
{
	for (u32 forgets = 0; forgets < 2; forgets++) {
		struct following following;
		struct feed feed = {.model = model_new()};
		struct stream_image image = {.start_ticks = 1000, .access = ACCESS_EXACT};
		int status;

		following_begin(&following, feed.model, forgets);
		feed.sink = model_sink(feed.model);
		status = feed.sink.image(feed.sink.self, &image, &feed.err);
		CHECK_EQ(status < 0, forgets);
		CHECK(!following_is_done(&following));
		if (!forgets) {
			tell_functions(&feed, 1);
			tell_life(&feed, 100);
			tell_end(&feed, IMAGE_EXITED);
			CHECK_EQ(feed.model->totals.allocations, 1);
			CHECK(!following_is_done(&following));
		}
		following_release(&following);
		model_free(feed.model);
	}
}
