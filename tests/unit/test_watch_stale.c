/* SPDX-License-Identifier: MIT
 * Which areas are stale, and in which order. */
#include <stdlib.h>

#include "format/shadow.h"
#include "lib/test.h"
#include "live/watch/stale.h"

static const u64 page = HW_HEAP_START + (3ull << 36); /* slots of 64 bytes */
enum { AREAS = 2000 };

/* Area i is born at i, has a size of its own and a page of its own, and is armed since then. */
static void fill(struct areas *areas)
{
	areas_reset(areas, 0, 0);
	for (u64 i = 0; i < AREAS; i++) {
		struct event event = {.ticks = 10 + i,
				      .address = page + 4096 * i,
				      .size = 1 + i * 37 % 64,
				      .chunk = i,
				      .kind = HW_MALLOC};
		struct area *area = areas_add(areas, &event);

		area->hits = i * 101 % 997;
		areas_armed(areas, area->unit, 11 + i);
	}
}

static u64 key_of(const struct area *area, enum stale_sort sort, u64 now)
{
	switch (sort) {
	case STALE_BY_SIZE:
		return area->size;
	case STALE_BY_HITS:
		return area->hits;
	case STALE_BY_AGE:
		return now - area->birth_ns;
	default:
		return area_idle(area, now);
	}
}

static int falling(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x > y ? -1 : x < y;
}

TEST(rows, "the rows that are asked for are the first of all in their order")
{
	static const enum stale_sort sorts[] = {STALE_BY_IDLE, STALE_BY_SIZE, STALE_BY_AGE,
						STALE_BY_HITS};
	static const u32 limits[] = {1, 7, 100, 500, 3000};
	struct stale_rows *found = calloc(1, sizeof(*found));
	struct areas areas = {0};
	u64 now = 10 + AREAS + 500, keys[AREAS];

	fill(&areas);
	for (u32 i = 0; i < 4 * 5 * 2; i++) {
		struct stale_query query = {.after_ns = 1000,
					    .sort = sorts[i % 4],
					    .limit = limits[i / 4 % 5],
					    .rising = i >= 20};
		u32 wanted = query.limit < STALE_ROWS_MAX ? query.limit : STALE_ROWS_MAX, stale = 0;
		u64 bytes = 0;

		for (u64 k = 0; k < AREAS; k++) {
			const struct area *area = areas.list.data[k];

			if (area_idle(area, now) < 1000)
				continue;
			keys[stale++] = key_of(area, query.sort, now);
			bytes += area->size;
		}
		qsort(keys, stale, sizeof(keys[0]), falling);
		stale_find(&areas, &query, now, found);
		CHECK_EQ(found->count, stale);
		CHECK_EQ(found->bytes, bytes);
		CHECK_EQ(found->rows, wanted);
		for (u32 k = 0; k < found->rows; k++)
			CHECK_EQ(key_of(found->row[k], query.sort, now),
				 keys[query.rising ? stale - 1 - k : k]);
	}
	areas_release(&areas);
	free(found);
}

TEST(noticed, "what was not touched is stale only if that would have been noticed")
{
	struct event event = {.ticks = 10, .address = page, .size = 50, .kind = HW_MALLOC};
	struct areas areas = {0};
	struct area *area;

	areas_reset(&areas, 0, 0);
	area = areas_add(&areas, &event);
	CHECK(!area_is_stale(area, 1000, 5000)); /* never armed */
	areas_armed(&areas, area->unit, 4600);
	CHECK(!area_is_stale(area, 1000, 5599)); /* who touches it every 999 may have done so just before */
	CHECK(area_is_stale(area, 400, 5000));
	CHECK(area_is_stale(area, 1000, 5600));
	areas_release(&areas);
}
