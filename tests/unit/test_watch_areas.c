/* SPDX-License-Identifier: MIT
 * The table of live areas behind the toolkit and `heapwise watch`. */
#include "format/shadow.h"
#include "lib/test.h"
#include "live/watch/areas.h"

static const u64 small_page = HW_HEAP_START + (3ull << 36); /* slots of 64 bytes */

static struct area *add(struct areas *areas, u64 address, u64 size, u64 ticks)
{
	struct event event = {.ticks = ticks, .address = address, .size = size, .kind = HW_MALLOC};

	return areas_add(areas, &event);
}

TEST(small_share, "small areas of one page are one unit, large ones are units of their own")
{
	struct areas areas = {0};
	struct area *a, *b, *c, *large;

	areas_reset(&areas, 0, 0);
	a = add(&areas, small_page, 50, 1);
	b = add(&areas, small_page + 64, 60, 2);
	c = add(&areas, small_page + 4096, 60, 3);
	large = add(&areas, HW_HEAP_START + (60ull << 36), 100000, 4);
	CHECK(a->unit == b->unit && a->unit != c->unit && large->unit != c->unit);
	CHECK_EQ(a->unit->areas, 2);
	CHECK_EQ(a->unit->bytes, 110);
	CHECK(areas_at(&areas, small_page + 64 + 59) == b);
	CHECK(!areas_at(&areas, small_page + 64 + 60));
	CHECK(areas_at(&areas, large->address + 99999) == large);
	CHECK(!areas_at(&areas, large->address + 100000));
	CHECK(!add(&areas, 0x5555, 10, 5)->unit);
	CHECK_EQ(areas.live_bytes, 50 + 60 + 60 + 100000 + 10);
	areas_release(&areas);
}

TEST(hits_open, "a hit opens the unit, and only the area that was touched becomes young")
{
	struct areas areas = {0};
	struct area *a, *b;
	struct tap_hit hit = {.ticks = 500, .address = small_page + 64 + 10};

	areas_reset(&areas, 0, 0);
	a = add(&areas, small_page, 50, 1);
	b = add(&areas, small_page + 64, 60, 2);
	areas_armed(&areas, a->unit, 100);
	CHECK_EQ(areas.armed_areas, 2);
	CHECK(areas_hit(&areas, &hit) == b);
	CHECK(!a->unit->armed);
	CHECK_EQ(areas.armed_areas + areas.armed_bytes + areas.armed_units, 0);
	CHECK_EQ(area_age(b, 600), 100);
	CHECK_EQ(area_age(a, 600), 599);
	/* The arming is told later than the hit that came after it. */
	areas_armed(&areas, a->unit, 450);
	CHECK(!a->unit->armed);
	/* A hit that is older than the arming does not open it. */
	areas_armed(&areas, a->unit, 700);
	hit.ticks = 650;
	areas_hit(&areas, &hit);
	CHECK(a->unit->armed);
	areas_release(&areas);
}

TEST(units_end, "a unit ends with its last area, and a birth in it means that it is open")
{
	struct areas areas = {0};
	struct area *a, *b;
	bool ended;

	areas_reset(&areas, 0, 0);
	a = add(&areas, small_page, 50, 1);
	areas_armed(&areas, a->unit, 10);
	b = add(&areas, small_page + 128, 50, 20);
	CHECK(!b->unit->armed);
	areas_armed(&areas, a->unit, 30);
	areas_remove(&areas, a, &ended);
	CHECK(!ended);
	areas_remove(&areas, b, &ended);
	CHECK(ended);
	CHECK_EQ(areas.units.count + areas.list.count + areas.live_bytes + areas.armed_units, 0);
	/* Memory is used again. */
	for (u32 i = 0; i < 5000; i++)
		areas_remove(&areas, add(&areas, small_page, 50, 40 + i), &ended);
	CHECK_EQ(areas.slabs.count, 2);
	areas_release(&areas);
}

TEST(sums, "what lives of a point, and of a size, and what was hit is known without a look at each area")
{
	struct areas areas = {0};
	struct event event = {.kind = HW_MALLOC, .size = 50, .ticks = 1};
	struct tap_hit hit = {.ticks = 500, .address = small_page + 2 * 64};
	bool ended;

	areas_reset(&areas, 0, 0);
	for (u32 i = 0; i < 4; i++) {
		event.address = small_page + 64 * i;
		event.context = i % 2 ? 7 : 3;
		areas_add(&areas, &event);
	}
	areas_hit(&areas, &hit);
	areas_hit(&areas, &hit);
	CHECK_EQ(areas.points.data[3].areas, 2);
	CHECK_EQ(areas.points.data[3].bytes, 100);
	CHECK_EQ(areas.points.data[3].hits, 2);
	CHECK_EQ(areas.points.data[7].hits, 0);
	CHECK_EQ(areas.sizes[5], 4);
	CHECK_EQ(areas.touched.count, 1);
	CHECK_EQ(areas_find(&areas, small_page)->unit->last_ns, 500);
	/* One is born in the place of the one that was hit. */
	event.address = hit.address;
	event.context = 7;
	event.size = 30;
	areas_add(&areas, &event);
	CHECK_EQ(areas.points.data[3].areas, 1);
	CHECK_EQ(areas.points.data[3].hits, 0);
	CHECK_EQ(areas.points.data[7].bytes, 130);
	CHECK_EQ(areas.sizes[4], 1);
	CHECK_EQ(areas.touched.count, 0);
	/* nor was any seen earlier because of an older birth */
	CHECK_EQ(areas_find(&areas, small_page)->unit->last_ns, 500);
	while (areas.list.count)
		areas_remove(&areas, areas.list.data[0], &ended);
	CHECK_EQ(areas.points.data[3].bytes + areas.points.data[7].areas + areas.sizes[4] + areas.sizes[5], 0);
	areas_release(&areas);
}

TEST(open_unknown, "nobody knows of an area that its unit's opening hid, whatever opened it")
{
	static const struct {
		const char *why;
		u32 flags;
		enum { HIT, FLOOD, DISARMED, BIRTH, MOVED } what;
	} openings[] = {
		{"a neighbour is hit", 0, HIT},    {"a sweep", HW_HIT_AROUND, HIT}, {"a flood", 0, FLOOD},
		{"the policy", 0, DISARMED},       {"a neighbour is born", 0, BIRTH},
		{"realloc moves a neighbour", 0, MOVED},
	};

	for (u32 i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct areas areas = {0};
		struct tap_hit hit = {.ticks = 20000000, .address = small_page + 64, .flags = openings[i].flags};
		struct area *a, *b;

		areas_reset(&areas, 0, 0);
		a = add(&areas, small_page, 50, 1);
		b = add(&areas, small_page + 64, 60, 2);
		CHECK_EQ(area_idle(a, 100), 0);
		areas_armed(&areas, a->unit, 10000000);
		CHECK_EQ(area_idle(a, 15000000), 5000000);
		if (openings[i].what == HIT)
			areas_hit(&areas, &hit);
		else if (openings[i].what == FLOOD)
			areas_flooded(&areas, 20000000);
		else if (openings[i].what == DISARMED)
			areas_opened(&areas, a->unit, 20000000);
		else if (openings[i].what == BIRTH)
			add(&areas, small_page + 128, 60, 20000000);
		else
			areas_moved(&areas, b, 20000000);
		if (area_idle(a, 40000000))
			test_fail(__FILE__, __LINE__, "%s", openings[i].why);
		/* The arming that came before is told later. */
		areas_armed(&areas, a->unit, 19000000);
		CHECK_EQ(area_idle(a, 40000000), 0);
		areas_armed(&areas, a->unit, 30000000);
		CHECK_EQ(area_idle(a, 40000000), 10000000);
		CHECK_EQ(area_age(a, 40000000), 39999999);
		areas_release(&areas);
	}
}
