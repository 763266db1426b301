/* SPDX-License-Identifier: MIT
 * The model against hand-made streams whose answers are known. */
#include "study/model/durations.h"
#include "unit/test_model.h"

TEST(peak_is_exact,
     "the peak is the largest sum of live bytes in event order, with its chunks and time")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 100), b = tell_alloc(&feed, HW_CALLOC, 0, 50);

	tell_free(&feed, HW_FREE, a, 100);
	tell_alloc(&feed, HW_MALLOC, 0, 70); /* 120 < 150 */
	tell_free(&feed, HW_FREE, b, 50);
	tell_alloc(&feed, HW_NEW, 0, 90); /* 160 */
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.peak_bytes, 160);
	CHECK_EQ(feed.model->totals.peak_chunks, 2);
	CHECK_EQ(feed.model->totals.peak_ticks, 1060);
	CHECK_EQ(feed.model->totals.allocations, 4);
	CHECK_EQ(feed.model->totals.bytes, 310);
	CHECK_EQ(feed.model->totals.frees, 2);
	CHECK_EQ(feed.model->totals.live_bytes, 160);
	CHECK_EQ(feed.model->totals.live_chunks, 2);
	model_free(feed.model);
}

TEST(equal_peak_is_the_first, "of two equal peaks the first one counts")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 100);

	tell_free(&feed, HW_FREE, a, 100);
	tell_alloc(&feed, HW_MALLOC, 0, 100);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.peak_ticks, 1010);
	model_free(feed.model);
}

TEST(late_event_keeps_order,
     "an event with an earlier time is applied in the order in which it came")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 100);

	tell_event(&feed, (struct event){.kind = HW_FREE, .chunk = a, .size = 100, .ticks = 1001});
	tell_alloc(&feed, HW_MALLOC, 0, 60);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.peak_bytes, 100);
	CHECK_EQ(feed.model->totals.live_bytes, 60);
	CHECK_EQ(chunk_at(&feed.model->chunks, a)->free_ticks[a], 1001);
	model_free(feed.model);
}

TEST(share_at_peak, "each point's share at the program's peak is what it had live at that moment")
{
	struct feed feed = feed_new();
	const struct model_point *points;
	u64 a, b;

	tell_context(&feed, 1, 0, 0x500000);
	tell_context(&feed, 2, 0, 0x600000);
	a = tell_alloc(&feed, HW_MALLOC, 1, 300);
	tell_free(&feed, HW_FREE, a, 300);
	a = tell_alloc(&feed, HW_MALLOC, 1, 100);
	b = tell_alloc(&feed, HW_MALLOC, 2, 250); /* the peak: 350 */
	tell_free(&feed, HW_FREE, b, 250);
	tell_alloc(&feed, HW_MALLOC, 2, 200);
	tell_free(&feed, HW_FREE, a, 100);
	tell_end(&feed, IMAGE_EXITED);
	points = feed.model->points.data;
	CHECK_EQ(feed.model->points.count, 2);
	CHECK_EQ(feed.model->totals.peak_bytes, 350);
	CHECK_EQ(points[0].at_peak_bytes, 100);
	CHECK_EQ(points[0].at_peak_chunks, 1);
	CHECK_EQ(points[0].peak_bytes, 300);
	CHECK_EQ(points[1].at_peak_bytes, 250);
	CHECK_EQ(points[1].live_bytes, 200);
	CHECK_EQ(points[1].peak_bytes, 250);
	model_free(feed.model);
}

TEST(untouched_point_at_peak, "a point that never changes after the peak keeps its share of it")
{
	struct feed feed = feed_new();

	tell_context(&feed, 1, 0, 0x500000);
	tell_context(&feed, 2, 0, 0x600000);
	tell_alloc(&feed, HW_MALLOC, 1, 10);
	tell_alloc(&feed, HW_MALLOC, 2, 20);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->points.data[0].at_peak_bytes, 10);
	CHECK_EQ(feed.model->points.data[1].at_peak_bytes, 20);
	model_free(feed.model);
}

TEST(new_point_after_peak, "a point that begins after the peak has no share of it")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 1000);

	tell_free(&feed, HW_FREE, a, 1000);
	tell_context(&feed, 1, 0, 0x500000);
	tell_alloc(&feed, HW_MALLOC, 1, 10);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->points.data[1].at_peak_bytes, 0);
	CHECK_EQ(feed.model->points.data[0].at_peak_bytes, 1000);
	model_free(feed.model);
}

TEST(temporary_same_thread,
     "a chunk is temporary if its thread allocates nothing before it is freed")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 8), b;

	tell_free(&feed, HW_FREE, a, 8); /* temporary */
	a = tell_alloc(&feed, HW_MALLOC, 0, 16);
	b = tell_alloc(&feed, HW_MALLOC, 0, 32);
	tell_free(&feed, HW_FREE, a, 16); /* not */
	tell_free(&feed, HW_FREE, b, 32); /* temporary */
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.temporary, 2);
	CHECK_EQ(feed.model->totals.temporary_bytes, 40);
	CHECK_EQ(chunk_at(&feed.model->chunks, a)->others[a], 1);
	model_free(feed.model);
}

TEST(temporary_other_threads, "allocations of other threads do not make a chunk less temporary")
{
	struct feed feed = feed_new();
	u64 a, b;

	tell_thread(&feed, 0);
	tell_thread(&feed, 1);
	feed.thread = 0;
	a = tell_alloc(&feed, HW_MALLOC, 0, 8);
	feed.thread = 1;
	b = tell_alloc(&feed, HW_MALLOC, 0, 8);
	tell_free(&feed, HW_FREE, a, 8); /* freed by thread 1, before thread 0 allocated again */
	feed.thread = 0;
	tell_alloc(&feed, HW_MALLOC, 0, 8);
	tell_free(&feed, HW_FREE, b, 8); /* thread 1 made nothing since */
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.temporary, 2);
	CHECK_EQ(chunk_at(&feed.model->chunks, a)->free_thread[a], 1);
	CHECK_EQ(chunk_at(&feed.model->chunks, a)->alloc_thread[a], 0);
	CHECK_EQ(feed.model->threads.data[0].tid, 100);
	model_free(feed.model);
}

TEST(realloc_calls,
     "a realloc of a live block is one call, one free and one allocation; realloc(p,0) one call")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10), b;

	tell_event(&feed,
		   (struct event){.kind = HW_REALLOC_FREE, .chunk = a, .size = 10, .aux = 1});
	b = tell_alloc(&feed, HW_REALLOC, 0, 20);
	tell_event(&feed,
		   (struct event){.kind = HW_REALLOC_FREE, .chunk = b, .size = 20, .aux = 0});
	tell_alloc(&feed, HW_REALLOC, 0, 5); /* realloc(NULL, 5) */
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(model_calls(feed.model, "realloc"), 3);
	CHECK_EQ(model_calls(feed.model, "malloc"), 1);
	CHECK_EQ(model_calls(feed.model, "free"), 0);
	CHECK_EQ(feed.model->totals.allocations, 3);
	CHECK_EQ(feed.model->totals.bytes, 35);
	CHECK_EQ(feed.model->totals.frees, 2);
	model_free(feed.model);
}

TEST(calls_by_family, "array forms count as new and delete, aligned forms as memalign")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_NEW, 0, 1), b = tell_alloc(&feed, HW_NEW_ARRAY, 0, 1);

	tell_alloc(&feed, HW_MEMALIGN, 0, 1);
	tell_free(&feed, HW_DELETE, a, 1);
	tell_free(&feed, HW_DELETE_ARRAY, b, 1);
	CHECK_EQ(model_calls(feed.model, "new"), 2);
	CHECK_EQ(model_calls(feed.model, "delete"), 2);
	CHECK_EQ(model_calls(feed.model, "memalign"), 1);
	CHECK_EQ(model_calls(feed.model, "free"), 0);
	model_free(feed.model);
}

TEST(scan_classes, "a chunk's class is that of the last scan that was done, and unknown where it did not tell it")
{
	struct feed feed = feed_new();
	struct stream_scan scan = {.state = SCAN_DONE, .reason = "", .chunks = 2, .roots_bytes = 9};
	struct stream_class first[] = {{0, CLASS_LOST}, {1, CLASS_INDIRECT}};
	struct stream_class second[] = {{1, CLASS_POSSIBLE}, {77, CLASS_LOST}};

	CHECK_EQ(feed.model->scan.state, SCAN_NONE);
	CHECK_STR(feed.model->scan.reason, "");
	tell_thread(&feed, 0);
	tell_alloc(&feed, HW_MALLOC, 0, 10);
	tell_alloc(&feed, HW_MALLOC, 0, 20);
	told(&feed, feed.sink.scan(feed.sink.self, &scan, first, 2, &feed.err));
	CHECK_EQ(model_chunk_class(feed.model, 0), CLASS_LOST);
	CHECK_EQ(model_chunk_class(feed.model, 1), CLASS_INDIRECT);
	CHECK_EQ(feed.model->scan.roots_bytes, 9);
	told(&feed, feed.sink.scan(feed.sink.self, &scan, second, 2, &feed.err));
	CHECK_EQ(model_chunk_class(feed.model, 0), CLASS_UNKNOWN);
	CHECK_EQ(model_chunk_class(feed.model, 1), CLASS_POSSIBLE);
	CHECK_EQ(model_chunk_class(feed.model, 77), CLASS_UNKNOWN);
	scan.state = SCAN_FAILED;
	scan.reason = "because";
	told(&feed, feed.sink.scan(feed.sink.self, &scan, NULL, 0, &feed.err));
	CHECK_EQ(model_chunk_class(feed.model, 1), CLASS_POSSIBLE);
	CHECK_EQ(feed.model->scan.state, SCAN_DONE);
	CHECK_STR(feed.model->scan.reason, "because");
	model_free(feed.model);
}

TEST(exec_is_not_kept, "chunks that are live at an exec end as exec, not as kept")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	tell_end(&feed, IMAGE_EXEC);
	CHECK_EQ(chunk_end(&feed.model->chunks, a), CHUNK_EXEC);
	model_free(feed.model);
}

TEST(kept_and_broken_off,
     "live chunks are kept at a proper end and stay live when the stream breaks off")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	model_finish(feed.model);
	CHECK_EQ(chunk_end(&feed.model->chunks, a), CHUNK_LIVE);
	CHECK(!feed.model->has_end);
	tell_image(&feed, 0);
	a = tell_alloc(&feed, HW_MALLOC, 0, 10);
	tell_end(&feed, IMAGE_KILLED);
	CHECK_EQ(chunk_end(&feed.model->chunks, a), CHUNK_KEPT);
	model_free(feed.model);
}

TEST(next_image_starts_anew, "a further image replaces everything that was told of the one before")
{
	struct feed feed = feed_new();

	tell_context(&feed, 1, 0, 0x500000);
	tell_alloc(&feed, HW_MALLOC, 1, 1000);
	tell_end(&feed, IMAGE_EXEC);
	tell_image(&feed, 0);
	tell_alloc(&feed, HW_MALLOC, 0, 7);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.allocations, 1);
	CHECK_EQ(feed.model->totals.peak_bytes, 7);
	CHECK_EQ(feed.model->points.count, 1);
	CHECK_STR(feed.model->image.command, "prog arg");
	model_free(feed.model);
}

TEST(unknown_and_implied_frees, "frees of unknown blocks and implied frees are counted apart")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	tell_event(&feed, (struct event){.kind = HW_FREE, .chunk = NO_CHUNK, .address = 0x99});
	tell_event(&feed,
		   (struct event){.kind = HW_FREE, .chunk = a, .size = 10, .flags = EVENT_IMPLIED});
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->unknown_frees, 1);
	CHECK_EQ(feed.model->implied_frees, 1);
	CHECK_EQ(feed.model->totals.frees, 1);
	CHECK_EQ(chunk_end(&feed.model->chunks, a), CHUNK_IMPLIED);
	CHECK_EQ(model_calls(feed.model, "free"),
		 1); /* the implied one was no call that was seen */
	model_free(feed.model);
}

TEST(absurd_events, "events that contradict others are counted and change nothing")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 10);

	tell_event(&feed, (struct event){.kind = HW_MALLOC, .chunk = a, .size = 99});
	tell_event(&feed, (struct event){.kind = HW_MALLOC, .chunk = (u64)1 << 60, .size = 99});
	tell_event(&feed, (struct event){.kind = 200});
	tell_free(&feed, HW_FREE, a, 10);
	tell_free(&feed, HW_FREE, a, 10);
	tell_event(&feed,
		   (struct event){.kind = HW_MALLOC, .chunk = 1, .size = 5, .context = 123456});
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->strange_events, 3);
	CHECK_EQ(feed.model->totals.allocations, 2);
	CHECK_EQ(feed.model->totals.frees, 1);
	CHECK_EQ(feed.model->unknown_frees, 1);
	CHECK_EQ(feed.model->points.count, 1); /* a context that was never told is no stack */
	model_free(feed.model);
}

TEST(context_told_late, "a context told after its first event does not move that event's chunk")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 7, 10);

	tell_context(&feed, 9, 0, 0x600000); /* now 7 is in range, but still not told */
	tell_alloc(&feed, HW_MALLOC, 7, 30);
	tell_context(&feed, 7, 0, 0x500000);
	tell_free(&feed, HW_FREE, a, 10);
	tell_alloc(&feed, HW_MALLOC, 7, 20);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->points.count, 2);
	CHECK_EQ(feed.model->points.data[0].frees, 1);
	CHECK_EQ(feed.model->points.data[0].live_bytes, 30);
	CHECK_EQ(feed.model->points.data[1].live_bytes, 20);
	model_free(feed.model);
}

TEST(holes_between_chunks, "chunks whose allocation is missing are absent, not zero-sized chunks")
{
	struct feed feed = feed_new();
	u64 far = 5 * CHUNK_PAGE + 3;

	tell_alloc(&feed, HW_MALLOC, 0, 10);
	feed.chunks = far;
	tell_alloc(&feed, HW_MALLOC, 0, 10);
	tell_free(&feed, HW_FREE, far, 10);
	tell_free(&feed, HW_FREE, far - 1, 10);
	tell_free(&feed, HW_FREE, 2 * CHUNK_PAGE, 10);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->chunks.count, far + 1);
	CHECK_EQ(chunk_end(&feed.model->chunks, 1), CHUNK_ABSENT);
	CHECK_EQ(chunk_end(&feed.model->chunks, 2 * CHUNK_PAGE), CHUNK_ABSENT);
	CHECK_EQ(chunk_end(&feed.model->chunks, far), CHUNK_FREED);
	CHECK_EQ(feed.model->unknown_frees, 2);
	model_free(feed.model);
}

TEST(sampled_weights,
     "in a sampled recording each chunk stands for 1/(1-exp(-size/interval)) allocations")
{
	struct feed feed = feed_new();
	u64 small, large;

	tell_image(&feed, 1000);
	small = tell_alloc(&feed, HW_MALLOC, 0, 100);
	large = tell_alloc(&feed, HW_MALLOC, 0, 5000);
	/* 1 / (1 - exp(-0.1)) = 10.508, 1 for the large one */
	CHECK_EQ(model_count(feed.model, feed.model->totals.allocations), 12);
	CHECK_EQ(feed.model->totals.bytes, 1051 + 5000);
	CHECK_EQ(feed.model->recorded_allocations, 2);
	CHECK_EQ(feed.model->recorded_bytes, 5100);
	tell_free(&feed, HW_FREE, small, 100);
	tell_free(&feed, HW_FREE, large, 5000);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(feed.model->totals.live_bytes, 0);
	CHECK_EQ(feed.model->totals.live_chunks, 0);
	CHECK_EQ(model_calls(feed.model, "free"), 12);
	model_free(feed.model);
}

TEST(sampled_zero_size, "a sampled chunk of no bytes has the weight of one byte and adds no bytes")
{
	struct feed feed = feed_new();

	tell_image(&feed, 1000);
	tell_alloc(&feed, HW_MALLOC, 0, 0);
	/* 1 / (1 - exp(-0.001)) = 1000.5 */
	CHECK(model_count(feed.model, feed.model->totals.allocations) - 1000 <= 1);
	CHECK_EQ(feed.model->totals.bytes, 0);
	model_free(feed.model);
}

TEST(aggregates_join,
     "sums per stack are added to the points' totals, and what they freed is not kept")
{
	struct feed feed = feed_new();
	struct stream_aggregate rows[] = {
		{.context = 1, .allocations = 5, .bytes = 500, .frees = 6, .freed_bytes = 550},
		{.context = 2, .allocations = 1, .bytes = 8},
	};

	tell_context(&feed, 1, 0, 0x500000);
	tell_context(&feed, 2, 0, 0x600000);
	tell_alloc(&feed, HW_MALLOC, 1, 60);
	tell_alloc(&feed, HW_MALLOC, 1, 40);
	told(&feed, feed.sink.aggregates(feed.sink.self, rows, 2, &feed.err));
	tell_end(&feed, IMAGE_EXITED);
	CHECK(feed.model->aggregated);
	CHECK_EQ(feed.model->totals.allocations, 8);
	CHECK_EQ(feed.model->totals.bytes, 608);
	CHECK_EQ(feed.model->totals.live_bytes, 58);
	CHECK_EQ(feed.model->points.data[0].live_chunks, 1);
	CHECK_EQ(feed.model->points.data[0].live_bytes, 50);
	CHECK_EQ(feed.model->points.data[1].live_bytes, 8);
	model_free(feed.model);
}

TEST(aggregates_never_underflow, "sums that free more than there was leave nothing live")
{
	struct feed feed = feed_new();
	struct stream_aggregate row = {.context = 0, .frees = 100, .freed_bytes = 1u << 30};

	tell_alloc(&feed, HW_MALLOC, 0, 60);
	told(&feed, feed.sink.aggregates(feed.sink.self, &row, 1, &feed.err));
	CHECK_EQ(feed.model->totals.live_bytes, 0);
	CHECK_EQ(feed.model->totals.live_chunks, 0);
	model_free(feed.model);
}

/* ---- time in the allocator ---- */

static void tell_timed(struct feed *feed, u8 kind, u64 ticks, u32 times)
{
	for (u32 i = 0; i < times; i++)
		tell_event(feed, (struct event){.kind = HW_DURATION, .aux = kind, .size = ticks});
}

static void tell_calls(struct feed *feed, u32 count)
{
	for (u32 i = 0; i < count; i++)
		tell_alloc(feed, HW_MALLOC, 0, 1);
}

/* Ends after `ns`; 2 ns per tick. */
static struct call_costs costs_of(struct feed *feed, u64 ns, u64 cpu_ns)
{
	struct stream_clock pair = {.ticks = 1000 + ns / 2, .ns = 5000 + ns};
	struct stream_image_end end = {.ticks = pair.ticks, .how = IMAGE_EXITED, .cpu_ns = cpu_ns};
	struct call_costs costs;

	told(feed, feed->sink.clock(feed->sink.self, &pair, &feed->err));
	told(feed, feed->sink.image_end(feed->sink.self, &end, &feed->err));
	call_costs_find(&costs, feed->model);
	return costs;
}

TEST(allocator_time, "allocator time is the mean timed duration of each kind times its calls")
{
	struct feed feed = feed_new();
	u64 a = tell_alloc(&feed, HW_MALLOC, 0, 1);
	struct call_costs costs;

	tell_alloc(&feed, HW_MALLOC, 0, 1);
	tell_timed(&feed, HW_MALLOC, 32, 10);
	tell_timed(&feed, HW_MALLOC, 48, 10);
	tell_free(&feed, HW_FREE, a, 1); /* never timed: costs the mean of all, 40 */
	costs = costs_of(&feed, 1000000, 0);
	CHECK(costs.all.enough && !costs.all.capped);
	CHECK_EQ(costs.all.timed, 20);
	CHECK_EQ((u64)costs.all.ns, (2 * 40 + 40) * 2);
	CHECK_EQ(model_allocator_ns(feed.model), (2 * 40 + 40) * 2);
	CHECK_EQ((u64)costs.freed_ns, 80);
	CHECK(costs.all.low_ns < costs.all.ns && costs.all.ns < costs.all.high_ns);
	model_free(feed.model);
}

TEST(allocator_time_preempted, "a timed call that was preempted is not taken for what all calls cost")
{
	struct feed feed = feed_new();
	struct call_costs costs;

	tell_calls(&feed, 4000);
	tell_timed(&feed, HW_MALLOC, 50, 29);
	tell_timed(&feed, HW_MALLOC, 10000000, 1); /* 20 ms: the mean would be 2.7 s in all, of a run of 0.4 s */
	costs = costs_of(&feed, 400000000, 0);
	CHECK_EQ((u64)(costs.all.ns + 0.5), 4000 * 50 * 2);
	CHECK(costs.all.high_ns < 21000000); /* it did take that long, once */
	CHECK(costs.all.high_ns >= 20000000);
	model_free(feed.model);
}

TEST(allocator_time_hundredth, "of many timed calls the longest hundredth does not count, others do")
{
	struct feed feed = feed_new();
	struct call_costs costs;

	tell_calls(&feed, 100);
	tell_timed(&feed, HW_MALLOC, 50, 900);
	tell_timed(&feed, HW_MALLOC, 1000, 91);
	tell_timed(&feed, HW_MALLOC, 1000000, 9);
	costs = costs_of(&feed, 400000000, 0);
	CHECK_EQ((u64)(costs.all.ns + 0.5), 100 * (50 * 9 + 1000) / 10 * 2);
	model_free(feed.model);
}

TEST(allocator_time_capped, "allocator time is never above the threads' CPU time, nor are its parts")
{
	struct feed feed = feed_new();
	struct call_costs costs;

	tell_calls(&feed, 1000);
	tell_timed(&feed, HW_MALLOC, 500000, 40); /* 1 ms each, as on a machine that does much else */
	costs = costs_of(&feed, 2000000000, 300000000);
	CHECK(costs.all.capped);
	CHECK_EQ((u64)costs.all.ns, 300000000);
	CHECK_EQ((u64)costs.all.high_ns, 300000000);
	CHECK_EQ((u64)(costs.ns[HW_MALLOC] * 1000 + 0.5), 300000000);
	model_free(feed.model);
}

TEST(allocator_time_bound, "without CPU time the run's duration is the bound, for each thread")
{
	for (u32 threads = 1; threads <= 2; threads++) {
		struct feed feed = feed_new();
		struct call_costs costs;

		for (u32 i = 0; i < threads; i++)
			tell_thread(&feed, i);
		tell_calls(&feed, 1000);
		tell_timed(&feed, HW_MALLOC, 500000, 40);
		costs = costs_of(&feed, 100000000, 0);
		CHECK_EQ((u64)(costs.all.ns + 0.5), threads * 100000000);
		model_free(feed.model);
	}
}

TEST(allocator_time_few, "of too few timed calls nothing is said")
{
	struct feed feed = feed_new();
	struct call_costs costs;

	tell_calls(&feed, 1000);
	tell_timed(&feed, HW_MALLOC, 50, DURATION_CALLS_MIN - 1);
	costs = costs_of(&feed, 100000000, 0);
	CHECK(!costs.all.enough);
	CHECK_EQ(costs.all.timed, DURATION_CALLS_MIN - 1);
	CHECK_EQ((u64)costs.all.high_ns, 0);
	CHECK_EQ((u64)costs.ns[HW_MALLOC], 0);
	model_free(feed.model);
}

/* `times` chunks, a call timed after each. */
static void tell_sampled(struct feed *feed, u64 size, u64 ticks, u32 times)
{
	for (u32 i = 0; i < times; i++) {
		u64 address = 0x1000 + 16 * tell_alloc(feed, HW_MALLOC, 0, size);

		tell_event(feed, (struct event){.kind = HW_DURATION, .aux = HW_MALLOC, .address = address, .size = ticks});
	}
}

TEST(allocator_time_sampled, "in a sampled recording a timed call stands for as much as the chunk that is named")
{
	struct feed feed = feed_new();
	struct call_costs costs;

	tell_image(&feed, 64);
	tell_sampled(&feed, 16, 10, 40); /* 4.521 calls each */
	tell_sampled(&feed, 8192, 1000, 40);
	tell_event(&feed, (struct event){.kind = HW_DURATION, .aux = HW_MALLOC, .address = 1, .size = 9999}); /* of none */
	costs = costs_of(&feed, 400000000, 0);
	CHECK(costs.all.enough);
	CHECK_EQ((u64)(costs.ns[HW_MALLOC] + 0.5), (u64)((4.521 * 10 + 1000) / 5.521 * 2 + 0.5));
	model_free(feed.model);
}

TEST(allocator_time_sampled_few, "timed calls of which few stand for nearly all are too few to say")
{
	struct feed feed = feed_new();

	tell_image(&feed, 65536);
	tell_sampled(&feed, 16, 10, 2); /* 4,096 calls each */
	tell_sampled(&feed, 65536, 1000, 200);
	CHECK(!costs_of(&feed, 400000000, 0).all.enough);
	model_free(feed.model);
}

TEST(marks, "marks have names and what was live, snapshots also the points, pauses are counted")
{
	struct stream_name name = {.id = 5, .text = "load"}, wild = {.id = 1u << 31, .text = "x"};
	struct feed feed = feed_new();
	const struct model_mark *marks;

	told(&feed, feed.sink.name(feed.sink.self, &name, &feed.err));
	told(&feed, feed.sink.name(feed.sink.self, &wild, &feed.err));
	tell_event(&feed, (struct event){.kind = HW_MARK, .aux = HW_MARK_PHASE_BEGIN, .address = 5});
	tell_event(&feed, (struct event){.kind = HW_MALLOC, .address = 16, .size = 100});
	tell_event(&feed, (struct event){.kind = HW_MARK, .aux = HW_MARK_SNAPSHOT, .address = 1});
	tell_event(&feed, (struct event){.kind = HW_FREE, .address = 16, .size = 100});
	tell_event(&feed, (struct event){.kind = HW_MARK, .address = 1}); /* as once it was told */
	tell_event(&feed, (struct event){.kind = HW_MARK, .aux = HW_MARK_NAMED, .address = 6});
	tell_event(&feed, (struct event){.kind = HW_MARK, .aux = HW_MARK_PAUSED});
	marks = feed.model->marks.data;
	CHECK_EQ(feed.model->marks.count, 5);
	CHECK_STR(marks[0].name, "load");
	CHECK_EQ(marks[1].live_bytes, 100);
	CHECK_EQ(marks[2].kind, HW_MARK_SNAPSHOT);
	CHECK_EQ(marks[2].live_chunks, 0);
	CHECK_STR(marks[3].name, "");
	CHECK_EQ(feed.model->pauses, 1);
	CHECK_EQ(feed.model->snapshots.count, 2);
	CHECK_EQ(feed.model->snapshots.data[0].count, 1);
	CHECK_EQ(feed.model->snapshot_points.data[0].live_bytes, 100);
	CHECK_EQ(feed.model->snapshots.data[1].count, 0);
	model_free(feed.model);
}

TEST(other_kinds, "failed calls, losses, marks and mappings are counted and allocate nothing")
{
	struct feed feed = feed_new();

	tell_event(&feed, (struct event){.kind = HW_FAILED, .aux = HW_CALLOC, .size = 1u << 31});
	tell_event(&feed, (struct event){.kind = HW_LOST, .size = 17});
	tell_event(&feed, (struct event){.kind = HW_MARK, .size = 3});
	tell_event(&feed, (struct event){.kind = HW_MARK, .aux = 999, .address = ~0ull});
	tell_event(&feed, (struct event){.kind = HW_MMAP, .size = 4096});
	tell_event(&feed, (struct event){.kind = HW_MUNMAP, .size = 4096});
	tell_event(&feed, (struct event){.kind = HW_FAILED, .aux = 60000});
	CHECK_EQ(feed.model->failed[HW_CALLOC], 1);
	CHECK_EQ(feed.model->failed[HW_NONE], 1);
	CHECK_EQ(feed.model->lost_events, 17);
	CHECK_EQ(feed.model->marks.data[0].number, 3);
	CHECK_EQ(feed.model->mapped_bytes, 4096);
	CHECK_EQ(feed.model->unmapped_bytes, 4096);
	CHECK_EQ(model_calls(feed.model, "mmap"), 1);
	CHECK_EQ(feed.model->totals.allocations, 0);
	model_free(feed.model);
}

TEST(chunk_memory, "a chunk costs at most 64 bytes")
{
	CHECK(sizeof(struct chunk_page) <= 64 * (u64)CHUNK_PAGE);
}

static u32 draw(u32 *state, u32 limit)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % limit;
}

TEST(random_nonsense, "any stream of events leaves totals that equal the sums over points")
{
	struct feed feed = feed_new();
	struct model_totals *totals = &feed.model->totals;
	u64 live = 0, chunks = 0, at_peak = 0, temporary = 0;
	u32 state = 1;

	for (u32 i = 0; i < 200000; i++) {
		struct event event = {.kind = (u8)draw(&state, HW_KIND_COUNT + 2),
				      .chunk = draw(&state, 50000),
				      .size = draw(&state, 100000),
				      .context = draw(&state, 300),
				      .aux = (u16)draw(&state, 20),
				      .flags = (u8)draw(&state, 4)};

		feed.thread = draw(&state, 8);
		if (draw(&state, 50) == 0)
			tell_context(&feed, draw(&state, 250), draw(&state, 250),
				     draw(&state, 1000000));
		if (draw(&state, 500) == 0)
			tell_module(&feed, draw(&state, 30), draw(&state, 900000), draw(&state, 3),
				    "/x");
		tell_event(&feed, event);
	}
	tell_end(&feed, IMAGE_EXITED);
	for (u64 i = 0; i < feed.model->points.count; i++) {
		live += feed.model->points.data[i].live_bytes;
		chunks += feed.model->points.data[i].live_chunks;
		at_peak += feed.model->points.data[i].at_peak_bytes;
		temporary += feed.model->points.data[i].temporary;
	}
	CHECK(feed.model->points.count > 10);
	CHECK(totals->frees > 1000);
	CHECK_EQ(live, totals->live_bytes);
	CHECK_EQ(chunks, totals->live_chunks);
	CHECK_EQ(at_peak, totals->peak_bytes);
	CHECK_EQ(temporary, totals->temporary);
	CHECK_EQ(totals->allocations - totals->frees, totals->live_chunks);
	model_free(feed.model);
}

TEST(zones, "a zone of a page of chunks has the bounds of its ticks and sizes")
{
	struct feed feed = feed_new();
	struct chunk_table *chunks = &feed.model->chunks;
	const struct chunk_zone *zone;

	for (u64 i = 0; i < CHUNK_PAGE + 3; i++)
		tell_alloc(&feed, HW_MALLOC, 0, 100 + i);
	tell_free(&feed, HW_FREE, 7, 107);
	tell_free(&feed, HW_FREE, 5, 105);
	CHECK(!chunk_zone(chunks, 0));
	CHECK(chunk_table_make_zones(chunks));
	zone = chunk_zone(chunks, 0);
	CHECK_EQ(zone->alloc_first, 1010);
	CHECK_EQ(zone->alloc_last, 1000 + 10 * CHUNK_PAGE);
	CHECK_EQ(zone->free_first, 1000 + 10 * (CHUNK_PAGE + 4));
	CHECK_EQ(zone->free_last, 1000 + 10 * (CHUNK_PAGE + 5));
	CHECK_EQ(zone->min_size, 100);
	CHECK_EQ(zone->max_size, 100 + CHUNK_PAGE - 1);
	CHECK_EQ(zone->chunks, CHUNK_PAGE);
	CHECK_EQ(zone->unfreed, CHUNK_PAGE - 2);
	zone = chunk_zone(chunks, 1);
	CHECK_EQ(zone->chunks, 3);
	CHECK(zone->free_first > zone->free_last);
	CHECK(!chunk_zone(chunks, 2));
	chunk_table_release_range(chunks, 0, chunks->count); /* in memory: nothing happens */
	CHECK_EQ(chunk_at(chunks, 8)->size[8], 108);
	model_free(feed.model);
}
