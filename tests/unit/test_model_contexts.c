/* SPDX-License-Identifier: MIT
 * Contexts, places and allocation points; the clock; the timeline. */
#include "unit/test_model.h"

static struct frame_id place(struct feed *feed, u32 context)
{
	struct frame_id frame = {0};

	told(feed, context_table_place(&feed->model->contexts, context, &frame, &feed->err));
	return frame;
}

TEST(generations_merge, "the same code loaded again elsewhere is the same allocation point")
{
	struct feed feed = feed_new();

	tell_module(&feed, 0, 0x100000, 0, "/bin/prog");
	tell_module(&feed, 1, 0x700000, 0, "/lib/plug.so");
	tell_context(&feed, 1, 0, 0x100101);
	tell_context(&feed, 2, 1, 0x700201);
	tell_alloc(&feed, HW_MALLOC, 2, 10);
	/* unloaded, another library takes the place, the first comes back elsewhere */
	tell_module(&feed, 2, 0x700000, 1, "/lib/other.so");
	tell_module(&feed, 3, 0x900000, 1, "/lib/plug.so");
	tell_context(&feed, 3, 0, 1); /* generation 1 */
	tell_context(&feed, 4, 3, 0x100101);
	tell_context(&feed, 5, 4, 0x700201); /* now in other.so */
	tell_context(&feed, 6, 4, 0x900201); /* plug.so again */
	tell_alloc(&feed, HW_MALLOC, 5, 10);
	tell_alloc(&feed, HW_MALLOC, 6, 10);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->points.count, 2);
	CHECK_EQ(feed.model->points.data[0].allocations, 2);
	CHECK_EQ(feed.model->points.data[1].allocations, 1);
	CHECK_EQ(model_point_of(feed.model, 6).index, model_point_of(feed.model, 2).index);
	CHECK_EQ(feed.model->contexts.told, 5); /* the generation's root is no frame */
	CHECK_EQ(context_table_depth(&feed.model->contexts, feed.model->points.data[0].frame), 2);
	model_free(feed.model);
}

TEST(merged_point_peak, "the own peak of a merged point spans its contexts")
{
	struct feed feed = feed_new();

	tell_module(&feed, 0, 0x100000, 0, "/lib/plug.so");
	tell_module(&feed, 1, 0x300000, 0, "/lib/plug.so");
	tell_context(&feed, 1, 0, 0x100201);
	tell_context(&feed, 2, 0, 0x300201);
	tell_alloc(&feed, HW_MALLOC, 1, 10);
	tell_alloc(&feed, HW_MALLOC, 2, 20);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->points.count, 1);
	CHECK_EQ(feed.model->points.data[0].peak_bytes, 30);
	model_free(feed.model);
}

TEST(address_in_module,
     "a frame's address is that of the byte before the return address, less the base")
{
	struct feed feed = feed_new();
	const struct frame *frame;

	tell_module(&feed, 0, 0x100000, 0, "/bin/prog");
	tell_context(&feed, 1, 0, 0x100201);
	tell_context(&feed, 2, 1, 0x999999);
	frame = context_table_frame(&feed.model->contexts, place(&feed, 1));
	CHECK_EQ(frame->module, 0);
	CHECK_EQ(frame->address, 0x200);
	frame = context_table_frame(&feed.model->contexts, place(&feed, 2));
	CHECK_EQ(frame->module, NO_MODULE);
	CHECK_EQ(frame->address, 0x999998);
	model_free(feed.model);
}

TEST(build_id_decides, "modules are the same by build-id, and by path only without one")
{
	struct feed feed = feed_new();
	static const u8 one[] = {1, 2, 3}, two[] = {1, 2, 4};
	struct stream_module modules[] = {
		{.id = 0,
		 .base = 0x100000,
		 .start = 0x100000,
		 .end = 0x110000,
		 .path = "/a",
		 .build_id = one,
		 .build_id_bytes = 3},
		{.id = 1,
		 .base = 0x200000,
		 .start = 0x200000,
		 .end = 0x210000,
		 .path = "/b",
		 .build_id = one,
		 .build_id_bytes = 3},
		{.id = 2,
		 .base = 0x300000,
		 .start = 0x300000,
		 .end = 0x310000,
		 .path = "/a",
		 .build_id = two,
		 .build_id_bytes = 3},
	};

	for (u32 i = 0; i < 3; i++) {
		told(&feed, feed.sink.module(feed.sink.self, &modules[i], &feed.err));
		tell_context(&feed, i + 1, 0, modules[i].base + 0x21);
	}
	CHECK_EQ(place(&feed, 1).index, place(&feed, 2).index);
	CHECK(place(&feed, 1).index != place(&feed, 3).index);
	model_free(feed.model);
}

TEST(hostile_contexts, "circles, unknown parents and repeated ids cannot hang or crash the tree")
{
	struct feed feed = feed_new();

	tell_context(&feed, 1, 2, 0x500000); /* parent not told */
	tell_context(&feed, 2, 1, 0x600000);
	tell_context(&feed, 1, 2, 0x700000); /* told again, as a child of its child */
	tell_context(&feed, 3, 3, 0x700000); /* its own parent */
	tell_context(&feed, 0, 1, 0x700000);
	CHECK_EQ(context_table_depth(&feed.model->contexts, place(&feed, 2)), 2);
	CHECK_EQ(context_table_depth(&feed.model->contexts, place(&feed, 3)), 1);
	CHECK_EQ(place(&feed, 0).index, 0);
	CHECK_EQ(place(&feed, 4000000000u).index, 0);
	CHECK_EQ(feed.model->contexts.orphans, 2);
	model_free(feed.model);
}

TEST(cut_stack, "a cut stack ends in a frame that says so and is not merged with a whole one")
{
	struct feed feed = feed_new();
	struct stream_context cut = {.id = 1, .parent = 0, .pc = 1, .flags = HW_NODE_CUT};
	const struct frame *frame;

	told(&feed, feed.sink.contexts(feed.sink.self, &cut, 1, &feed.err));
	tell_context(&feed, 2, 1, 0x500000);
	tell_context(&feed, 3, 0, 0x500000);
	CHECK(place(&feed, 2).index != place(&feed, 3).index);
	frame = context_table_frame(&feed.model->contexts, place(&feed, 2));
	frame = context_table_frame(&feed.model->contexts, (struct frame_id){frame->parent});
	CHECK_EQ(frame->flags, HW_NODE_CUT);
	model_free(feed.model);
}

TEST(deep_stack, "a stack of 100,000 frames is placed without recursion")
{
	struct feed feed = feed_new();

	for (u32 i = 1; i <= 100000; i++)
		tell_context(&feed, i, i - 1, 0x500000 + i);
	CHECK_EQ(context_table_depth(&feed.model->contexts, place(&feed, 100000)), 100000);
	model_free(feed.model);
}

TEST(clock_interpolates,
     "ns are interpolated between pairs and go on at the mean rate after the last")
{
	static const struct {
		u64 ticks, ns;
	} rows[] = {{0, 0},      {100, 0},    {150, 500}, {200, 1000},
		    {300, 1500}, {400, 2000}, {700, 4000}};
	struct tick_clock clock = {0};

	CHECK(tick_clock_start(&clock, 100, 7000));
	CHECK(!tick_clock_known(&clock));
	CHECK_EQ(tick_clock_ns(&clock, 130), 30);
	CHECK(tick_clock_tell(&clock, &(struct stream_clock){.ticks = 200, .ns = 8000}));
	CHECK(tick_clock_tell(&clock,
			      &(struct stream_clock){.ticks = 150, .ns = 9000})); /* backwards */
	CHECK(tick_clock_tell(&clock, &(struct stream_clock){.ticks = 400, .ns = 9000}));
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_EQ(tick_clock_ns(&clock, rows[i].ticks), rows[i].ns);
	tick_clock_release(&clock);
}

/* A clock whose rate changes with every pair, from 1/8 to 50 ns per tick. */
static struct tick_clock uneven_clock(u64 start_ticks)
{
	struct tick_clock clock = {0};
	struct stream_clock pair = {.ticks = start_ticks, .ns = 5000};

	CHECK(tick_clock_start(&clock, pair.ticks, pair.ns));
	for (u32 i = 1; i < 200; i++) {
		pair.ticks += 1 + hash_u64(i) % 100000;
		pair.ns += 1 + hash_u64(i * 77) % 5000000 / (i % 40 + 1);
		CHECK(tick_clock_tell(&clock, &pair));
	}
	return clock;
}

TEST(clock_inverse, "ticks of a time are the earliest that are not before it")
{
	static const u64 starts[] = {0, 100, 1ull << 52, 1ull << 62};

	for (u32 k = 0; k < sizeof starts / sizeof *starts; k++) {
		struct tick_clock clock = uneven_clock(starts[k]);
		u64 last = clock.pairs.data[clock.pairs.count - 1].ticks;

		for (u64 i = 1; i < 20000; i++) {
			u64 ticks = starts[k] + hash_u64(i) % (2 * (last - starts[k]));
			u64 ns = tick_clock_ns(&clock, ticks) + i % 3;
			u64 found = tick_clock_ticks(&clock, ns);

			if ((ns && tick_clock_ns(&clock, found) < ns) ||
			    (found && ns && tick_clock_ns(&clock, found - 1) >= ns) ||
			    (tick_clock_ns(&clock, ticks) >= ns) != (ticks >= found))
				FAIL("%llu ns from %llu: %llu", (unsigned long long)ns,
				     (unsigned long long)ticks, (unsigned long long)found);
		}
		CHECK_EQ(tick_clock_ticks(&clock, 0), 0);
		CHECK_EQ(tick_clock_ticks(&clock, UINT64_MAX), UINT64_MAX);
		tick_clock_release(&clock);
	}
}

TEST(clock_inverse_unknown, "without pairs, or with one, ticks of a time are still told")
{
	struct tick_clock clock = {0};

	CHECK_EQ(tick_clock_ticks(&clock, 1), UINT64_MAX);
	CHECK(tick_clock_start(&clock, 100, 7000));
	CHECK_EQ(tick_clock_ticks(&clock, 30), 130);
	CHECK_EQ(tick_clock_ticks(&clock, UINT64_MAX - 5), UINT64_MAX);
	tick_clock_release(&clock);
}

TEST(timeline_keeps_peaks, "halving the resolution loses no highest and no lowest value")
{
	static struct timeline timeline;
	u64 most = 0, allocations = 0;

	timeline_start(&timeline, 500);
	for (u64 i = 0; i < 100000; i++) {
		u64 live = i == 54321 ? 999999 : 1000 + i % 7;

		timeline_put(&timeline, 500 + i * 100000, live, 1, i % 2 == 0);
	}
	for (u32 i = 0; i <= timeline.current; i++) {
		const struct timeline_bucket *bucket = &timeline.bucket[i];

		if (bucket->max_bytes > most)
			most = bucket->max_bytes;
		CHECK(bucket->min_bytes <= bucket->last_bytes &&
		      bucket->last_bytes <= bucket->max_bytes);
		allocations += bucket->allocations;
	}
	CHECK_EQ(most, 999999);
	CHECK_EQ(allocations, 50000);
	CHECK(timeline.current < TIMELINE_BUCKETS && timeline.current >= TIMELINE_BUCKETS / 4);
	CHECK_EQ(timeline.bucket[timeline.current].last_bytes, 1000 + 99999 % 7);
}

TEST(timeline_gap, "a pause repeats the last value in every bucket that it covers")
{
	static struct timeline timeline;

	timeline_start(&timeline, 0);
	timeline_put(&timeline, 1, 70, 2, true);
	timeline_put(&timeline, 100 * timeline.width_ticks, 10, 1, false);
	CHECK_EQ(timeline.bucket[50].min_bytes, 70);
	CHECK_EQ(timeline.bucket[50].max_bytes, 70);
	CHECK_EQ(timeline.bucket[50].max_chunks, 2);
	CHECK_EQ(timeline.bucket[50].allocations, 0);
	CHECK_EQ(timeline.bucket[100].max_bytes, 70);
	CHECK_EQ(timeline.bucket[100].min_bytes, 10);
}

TEST(timeline_end_of_time, "the last possible tick neither hangs nor overflows")
{
	static struct timeline timeline;

	timeline_start(&timeline, 0);
	timeline_put(&timeline, 1, 70, 2, true);
	timeline_put(&timeline, UINT64_MAX, 80, 3, true);
	timeline_put(&timeline, 5, 90, 3, true); /* late */
	CHECK_EQ(timeline.bucket[timeline.current].max_bytes, 90);
	CHECK(timeline.current < TIMELINE_BUCKETS);
}
