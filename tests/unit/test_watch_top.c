/* SPDX-License-Identifier: MIT
 * Which points have most bytes that live, of all threads and of one. */
#include "lib/test.h"
#include "live/watch/top.h"

enum { AREAS = 600, THREADS = 3, POINTS = 20 };

/* Area i is of thread i % 3 and of context 1 + i % 20, and has i + 1 bytes; every seventh has ended. */
static void fill(struct areas *areas)
{
	areas_reset(areas, 0, 0);
	for (u64 i = 0; i < AREAS; i++) {
		struct event event = {.ticks = 10 + i,
				      .address = 0x10000 + 4096 * i,
				      .size = i + 1,
				      .chunk = i,
				      .context = 1 + i % POINTS,
				      .thread = (u32)(i % THREADS),
				      .kind = HW_MALLOC};
		bool ended;

		areas_add(areas, &event);
		if (i % 7 == 0)
			areas_remove(areas, areas_find(areas, event.address), &ended);
	}
}

static struct top_row truth(u32 context, u32 thread)
{
	struct top_row row = {.context = context};

	for (u64 i = 0; i < AREAS; i++)
		if (i % 7 && 1 + i % POINTS == context &&
		    (thread == TOP_ALL_THREADS || i % THREADS == thread)) {
			row.areas++;
			row.bytes += i + 1;
		}
	return row;
}

TEST(points, "each point has what lives of it, of the thread that is asked for")
{
	static const u32 threads[] = {TOP_ALL_THREADS, 0, 1, 2, 3};
	struct areas areas = {0};

	fill(&areas);
	for (u32 i = 0; i < 5; i++) {
		struct top_found found = {0};

		CHECK(top_points(&areas, threads[i], &found));
		CHECK_EQ(found.rows.count, threads[i] == 3 ? 0 : POINTS);
		for (u64 k = 0; k < found.rows.count; k++) {
			struct top_row right = truth(found.rows.data[k].context, threads[i]);

			CHECK_EQ(found.rows.data[k].bytes, right.bytes);
			CHECK_EQ(found.rows.data[k].areas, right.areas);
			CHECK(k == 0 || found.rows.data[k].bytes <= found.rows.data[k - 1].bytes);
		}
		top_release(&found);
	}
	areas_release(&areas);
}

TEST(threads, "every thread is told, whichever is asked for")
{
	struct top_found found = {0};
	struct areas areas = {0};
	u64 all = 0;

	fill(&areas);
	CHECK(top_points(&areas, 1, &found));
	CHECK_EQ(found.threads.count, THREADS);
	for (u32 i = 0; i < THREADS; i++) {
		CHECK_EQ(found.threads.data[i].context, i);
		all += found.threads.data[i].bytes;
	}
	CHECK_EQ(all, areas.live_bytes);
	top_release(&found);
	areas_release(&areas);
}

TEST(nothing, "where nothing lives there is neither point nor thread")
{
	struct top_found found = {0};
	struct areas areas = {0};

	CHECK(top_points(&areas, TOP_ALL_THREADS, &found));
	CHECK_EQ(found.rows.count, 0);
	CHECK_EQ(found.threads.count, 0);
	top_release(&found);
	areas_release(&areas);
}
