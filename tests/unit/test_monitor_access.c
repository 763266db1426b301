/* SPDX-License-Identifier: MIT
 * Accesses from rings to rows: parts in order, cut, mixed up and from two threads; rows that find their
 * chunk although records of its address come in a strange order. */
#include <stdlib.h>

#include "lib/test.h"
#include "live/drain/access.h"
#include "live/drain/image.h"
#include "test_monitor_producer.h"

/* ---- parts ----------------------------------------------------------------------------------- */

struct part {
	u16 aux;
	u64 address, size;
};

enum { PARTS = 8 };

/* The last part of each list has aux 99. */
static const struct {
	const char *name;
	struct part parts[PARTS];
	u32 whole, damaged;
} lists[] = {
	{ "all parts",
	  { { 0, 16, 1 }, { 1, 5, 9 }, { 2, 3, 4 }, { 3, 12, 16 }, { 4, 0, 8 }, { 5, 8, 1 },
	    { 15, 16, 0 }, { 99, 0, 0 } }, 1, 0 },
	{ "the fewest", { { 0, 16, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 1, 0 },
	{ "in another order", { { 0, 16, 0 }, { 4, 0, 8 }, { 1, 5, 9 }, { 15, 16, 0 }, { 99, 0, 0 } },
	  1, 0 },
	{ "no beginning", { { 1, 5, 9 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "no end, then another block",
	  { { 0, 16, 0 }, { 1, 5, 9 }, { 0, 32, 0 }, { 15, 32, 0 }, { 99, 0, 0 } }, 1, 1 },
	{ "the end of another block", { { 0, 16, 0 }, { 15, 32, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a part twice", { { 0, 16, 0 }, { 1, 5, 9 }, { 1, 5, 9 }, { 15, 16, 0 }, { 99, 0, 0 } },
	  0, 2 },
	{ "a part that nobody knows", { { 0, 16, 0 }, { 32, 0, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "a number of a part beyond all", { { 0, 16, 0 }, { 60000, 0, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a block at address 0", { { 0, 0, 0 }, { 15, 0, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "flags that nobody knows", { { 0, 16, 64 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "last before first", { { 0, 16, 0 }, { 1, 9, 5 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "a first access and no last", { { 0, 16, 0 }, { 1, 0, 5 }, { 99, 0, 0 } }, 0, 1 },
	{ "high below low", { { 0, 16, 0 }, { 4, 9, 5 }, { 99, 0, 0 } }, 0, 1 },
	{ "a map", { { 0, 16, 0 }, { 5, 3, 1 }, { 6, 1, 0 }, { 13, 0, 1ull << 63 | 1 }, { 15, 16, 0 },
		     { 99, 0, 0 } }, 1, 0 },
	{ "a map of more bytes than were covered",
	  { { 0, 16, 0 }, { 5, 1, 1 }, { 6, 3, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a map without coverage", { { 0, 16, 0 }, { 6, 3, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "words of a map twice",
	  { { 0, 16, 0 }, { 5, 2, 1 }, { 6, 1, 0 }, { 6, 2, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 2 },
	{ "sides", { { 0, 16, 0 }, { 5, 3, 1 }, { 14, 1, 2 }, { 16, 1, 0 }, { 24, 6, 0 }, { 15, 16, 0 },
		     { 99, 0, 0 } }, 1, 0 },
	{ "the last words of their maps",
	  { { 0, 16, 0 }, { 5, 2, 1 }, { 14, 1, 1 }, { 23, 0, 1ull << 63 }, { 31, 1, 0 }, { 15, 16, 0 },
	    { 99, 0, 0 } }, 1, 0 },
	{ "words of a side twice",
	  { { 0, 16, 0 }, { 5, 2, 1 }, { 14, 1, 1 }, { 31, 1, 0 }, { 31, 1, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "sides without coverage", { { 0, 16, 0 }, { 14, 0, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "more bytes read than were accessed",
	  { { 0, 16, 0 }, { 5, 3, 1 }, { 14, 4, 3 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "bytes that were neither read nor written",
	  { { 0, 16, 0 }, { 5, 3, 1 }, { 14, 1, 1 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a side's map of more bytes than the side has",
	  { { 0, 16, 0 }, { 5, 3, 1 }, { 14, 1, 3 }, { 16, 3, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a side's map without sides",
	  { { 0, 16, 0 }, { 5, 3, 1 }, { 24, 3, 0 }, { 15, 16, 0 }, { 99, 0, 0 } }, 0, 1 },
	{ "a granule of 0", { { 0, 16, 0 }, { 5, 9, 0 }, { 99, 0, 0 } }, 0, 1 },
};

TEST(parts, "parts make a row, or are counted as damaged")
{
	for (u64 i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct access_gather gather = { 0 };
		u32 count[3] = { 0 };

		for (const struct part *part = lists[i].parts; part->aux != 99; part++) {
			struct hw_record record = { .kind = HW_ACCESS, .aux = part->aux,
						    .address = part->address, .size = part->size };

			count[access_gather_part(&gather, &record)]++;
		}
		if (!CHECK_EQ(count[ACCESS_WHOLE], lists[i].whole) ||
		    !CHECK_EQ(count[ACCESS_DAMAGED], lists[i].damaged))
			fprintf(stderr, "# in: %s\n", lists[i].name);
	}
}

/* ---- rows and chunks -------------------------------------------------------------------------- */

/* A3 chunk 3 begins, F3 it ends, U an unknown free, I3 an implied one, r3=7: row with 7 reads for chunk 3. */
struct story {
	char text[2048];
	u64 calls;
};

static void story_add(struct story *self, const char *format, u64 a, u64 b)
{
	size_t used = strlen(self->text);

	snprintf(self->text + used, sizeof(self->text) - used, format, a, b);
}

static int story_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)err;
	for (u64 i = 0; i < count; i++) {
		const struct event *e = &events[i];

		if (e->flags & EVENT_IMPLIED)
			story_add(self, "I%lu ", e->chunk, 0);
		else if (hw_kind_allocates(e->kind))
			story_add(self, "A%lu ", e->chunk, 0);
		else if (!hw_kind_frees(e->kind))
			story_add(self, "x ", 0, 0);
		else if (e->chunk == NO_CHUNK)
			story_add(self, "U ", 0, 0);
		else
			story_add(self, "F%lu ", e->chunk, 0);
	}
	return 0;
}

static int story_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err)
{
	(void)err;
	((struct story *)self)->calls++;
	for (u64 i = 0; i < count; i++) {
		story_add(self, "r%lu=%lu ", rows[i].chunk, rows[i].reads);
		if (rows[i].map)
			CHECK_EQ(rows[i].map[HW_MAP_WORDS - 1], rows[i].reads);
		for (u32 side = 0; side < HW_SIDES; side++)
			if (rows[i].side_maps[side])
				CHECK_EQ(rows[i].side_maps[side][HW_MAP_WORDS - 1],
					 rows[i].reads + side + 1);
	}
	return 0;
}

static int story_note(void *self, const char *key, const char *value, struct err *err)
{
	(void)err;
	story_add(self, key, 0, 0);
	story_add(self, "=%lu ", strtoull(value, NULL, 10), 0);
	return 0;
}

static int story_image(void *self, const struct stream_image *image, struct err *err)
{
	(void)err;
	story_add(self, access_mode_word(image->access), 0, 0);
	story_add(self, " ", 0, 0);
	return 0;
}

struct step {
	char what; /* A, F, R row of accesses, '.' "time passes and waiting is given up" */
	u64 address;
	u64 ticks; /* R: reads */
	u32 thread;
};

static const struct {
	const char *name;
	struct step steps[12];
	const char *want;
	u64 unknown;
} orders[] = {
	{ "a row comes between the beginning and the end of its chunk",
	  { { 'A', 16, 1, 0 }, { 'R', 16, 7, 0 }, { 'F', 16, 2, 0 } }, "A0 r0=7 F0 ", 0 },
	{ "a block that lives on", { { 'A', 16, 1, 0 }, { 'A', 32, 2, 0 }, { 'R', 32, 7, 0 } },
	  "A0 A1 r1=7 ", 0 },
	{ "the address is used again",
	  { { 'A', 16, 1, 0 }, { 'R', 16, 7, 0 }, { 'F', 16, 2, 0 }, { 'A', 16, 3, 0 },
	    { 'R', 16, 8, 0 }, { 'F', 16, 4, 0 } },
	  "A0 r0=7 F0 A1 r1=8 F1 ", 0 },
	{ "rows that wait together are told before any of their ends",
	  { { 'A', 16, 1, 0 }, { 'A', 32, 1, 0 }, { '!', 0, 0, 0 }, { 'R', 16, 7, 0 },
	    { 'F', 16, 2, 0 }, { 'R', 32, 8, 0 }, { 'F', 32, 3, 0 } },
	  "A0 A1 r0=7 r1=8 F0 F1 ", 0 },
	{ "two rows: the later one is told later",
	  { { 'A', 16, 1, 0 }, { 'R', 16, 7, 0 }, { 'R', 16, 8, 0 }, { 'F', 16, 2, 0 } },
	  "A0 r0=7 r0=8 F0 ", 0 },
	{ "accesses and free come before the allocation, of another thread",
	  { { 'R', 16, 7, 1 }, { 'F', 16, 2, 1 }, { 'A', 16, 1, 0 } }, "A0 r0=7 F0 ", 0 },
	{ "the next owner's accesses come before the free that made room for it",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'R', 16, 8, 1 }, { 'F', 16, 4, 1 },
	    { 'R', 16, 7, 0 }, { 'F', 16, 2, 0 } },
	  "A0 r0=7 F0 A1 r1=8 F1 ", 0 },
	{ "the same, rows side by side",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'R', 16, 8, 1 }, { 'R', 16, 7, 0 },
	    { 'F', 16, 4, 1 }, { 'F', 16, 2, 0 } },
	  "A0 r0=7 F0 A1 r1=8 F1 ", 0 },
	{ "a life that was over before the chunk that lives on",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'R', 16, 8, 1 }, { 'F', 16, 4, 1 },
	    { '.', 0, 0, 0 }, { 'R', 16, 7, 0 } },
	  "A0 A1 r1=8 r0=7 F1 ", 0 },
	{ "the next owner lives on",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'R', 16, 8, 1 }, { 'F', 16, 2, 0 } },
	  "A0 F0 A1 r1=8 ", 0 },
	{ "a block that was never told", { { 'A', 16, 1, 0 }, { 'R', 32, 7, 0 } }, "A0 ", 1 },
	{ "a block that was never told, and its free",
	  { { 'R', 32, 7, 0 }, { 'F', 32, 2, 0 }, { 'A', 16, 3, 0 } }, "A0 U ", 1 },
	{ "a stranger's accesses are not the next owner's",
	  { { 'R', 32, 7, 0 }, { 'F', 32, 2, 0 }, { '.', 0, 0, 0 }, { 'A', 32, 3, 0 },
	    { 'R', 32, 8, 0 }, { 'F', 32, 4, 0 } },
	  "U A0 r0=8 F0 ", 1 },
	{ "a very large block, which is kept apart",
	  { { 'B', 16, 1, 0 }, { 'R', 16, 7, 0 }, { 'F', 16, 2, 0 } }, "A0 r0=7 F0 ", 0 },
};

static struct told_record step_record(const struct step *step)
{
	struct told_record told = { .thread = step->thread };

	told.record.address = step->address;
	told.record.ticks = step->ticks;
	told.record.kind = step->what == 'F' ? HW_FREE : step->what == 'R' ? HW_ACCESS : HW_MALLOC;
	told.record.size = step->what == 'B' ? 1ull << 40 : 100; /* of frees: nobody may look at it */
	return told;
}

static void steps_run(struct correlator *correlator, const struct step *step)
{
	struct err err = { 0 };
	u64 time = 1;

	for (; step->what; step++) {
		struct told_record told = step_record(step);
		u64 map[HW_MAP_WORDS] = { [HW_MAP_WORDS - 1] = step->ticks };
		u64 read[HW_MAP_WORDS] = { [HW_MAP_WORDS - 1] = step->ticks + 1 };
		u64 written[HW_MAP_WORDS] = { [HW_MAP_WORDS - 1] = step->ticks + 2 };
		/* one has all maps, one any of the three alone */
		struct stream_access row = { .reads = step->ticks,
					     .map = step->ticks % 4 < 2 ? map : NULL,
					     .side_maps = { step->ticks % 4 % 3 ? NULL : read,
							    step->ticks % 2 ? NULL : written } };

		correlator_set_time(correlator, time);
		if (step->what == 'R')
			CHECK(correlator_give_access(correlator, &row));
		if (step->what == '.')
			CHECK_EQ(correlator_expire(correlator, ++time, &err), 0);
		else if (step->what == '!')
			CHECK_EQ(correlator_flush(correlator, &err), 0);
		else
			CHECK_EQ(correlator_feed(correlator, &told, 1, &err), 0);
	}
	CHECK_EQ(correlator_finish(correlator, &err), 0);
}

TEST(orders, "rows find their chunks in every order of arrival")
{
	for (u64 i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct story story = { 0 };
		struct stream_sink sink = { .self = &story, .events = story_events,
					    .accesses = story_accesses };
		struct correlator *correlator = correlator_new(&sink, false);

		steps_run(correlator, orders[i].steps);
		if (!CHECK_STR(story.text, orders[i].want) ||
		    !CHECK_EQ(correlator_unknown_accesses(correlator), orders[i].unknown))
			fprintf(stderr, "# in: %s\n", orders[i].name);
		correlator_free(correlator);
	}
}

TEST(batches, "rows of chunks that were told before are told together")
{
	enum { COUNT = 300 };
	static struct told_record records[COUNT];
	struct story story = { 0 };
	struct stream_sink sink = { .self = &story, .accesses = story_accesses };
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_access row = { 0 };
	struct err err = { 0 };

	for (u64 i = 0; i < COUNT; i++)
		records[i].record =
			(struct hw_record){ .kind = HW_MALLOC, .address = 64 + 64 * i, .size = 1 };
	CHECK_EQ(correlator_feed(correlator, records, COUNT, &err), 0);
	CHECK_EQ(correlator_flush(correlator, &err), 0);
	for (u64 i = 0; i < COUNT; i++) {
		records[i].record.kind = HW_ACCESS;
		CHECK(correlator_give_access(correlator, &row));
	}
	CHECK_EQ(correlator_feed(correlator, records, COUNT, &err), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	CHECK_EQ(story.calls, 1);
	correlator_free(correlator);
}

TEST(aggregated, "once there are only totals, accesses are not told")
{
	struct story story = { 0 };
	struct stream_sink sink = { .self = &story, .events = story_events,
				    .accesses = story_accesses };
	struct correlator *correlator = correlator_new(&sink, false);
	static const struct step steps[] = {
		{ 'A', 16, 1, 0 }, { 'R', 16, 7, 0 }, { 'F', 16, 2, 0 }, { 0, 0, 0, 0 }
	};
	struct err err = { 0 };

	CHECK_EQ(correlator_aggregate(correlator, 1, &err), 0);
	steps_run(correlator, steps);
	CHECK_STR(story.text, "");
	correlator_free(correlator);
}

/* ---- rings ------------------------------------------------------------------------------------ */

struct scene {
	struct berths berths;
	struct producer producer;
	struct berth berth;
	struct story story;
	struct image *image;
	u64 ticks;
};

static struct scene *scene_new(u32 mode)
{
	struct scene *self = calloc(1, sizeof(*self));
	struct berths_options options = { .ring_records = 1024 };
	struct image_start start = { .program = "/bin/prog", .command = "prog" };
	struct stream_sink sink = { .self = &self->story, .image = story_image,
				    .events = story_events, .accesses = story_accesses,
				    .note = story_note };
	struct err err = { 0 };

	if (berths_open(&self->berths, &options, &err) < 0)
		FAIL("%s", err.text);
	if (!producer_join(&self->producer, self->berths.path, 4000000))
		FAIL("no berth");
	self->producer.control->access = mode;
	if (berths_take_claimed(&self->berths, &self->berth, &err) != 1)
		FAIL("claim not seen");
	self->image = image_new(&self->berth, &start, &sink, &err);
	if (!self->image)
		FAIL("%s", err.text);
	producer_use_slots(&self->producer, 2);
	return self;
}

static void scene_end(struct scene *self)
{
	struct stream_image_end end = { .how = IMAGE_EXITED };
	struct stream_totals totals;
	struct err err = { 0 };

	image_cycle(self->image, 0, true);
	CHECK_EQ(image_end(self->image, &end, &totals, &err), 0);
	image_free(self->image);
	berths_give_back(&self->berths, &self->berth);
	berths_close(&self->berths);
}

static void put(struct scene *self, u32 slot, u32 kind, u16 aux, u64 address, u64 size)
{
	struct hw_record record = { .ticks = ++self->ticks, .kind = (u8)kind, .aux = aux,
				    .address = address, .size = size };

	producer_put(&self->producer, slot, &record);
}

static void put_part(struct scene *self, u32 slot, u16 aux, u64 address, u64 size)
{
	put(self, slot, HW_ACCESS, aux, address, size);
}

static int row_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err)
{
	(void)err;
	CHECK_EQ(count, 1);
	*(struct stream_access *)self = rows[0];
	return 0;
}

TEST(whole_row, "every part of a block arrives")
{
	struct scene *scene = scene_new(HW_ACCESS_EXACT);
	struct stream_access row = { 0 };

	/* of one row, in detail */
	correlator_free(scene->image->correlator);
	scene->image->correlator = correlator_new(
		&(struct stream_sink){ .self = &row, .accesses = row_accesses }, false);
	put(scene, 0, HW_MALLOC, 0, 4096, 64);
	put_part(scene, 0, HW_ACCESS_BLOCK, 4096, HW_ACCESS_SHARED | HW_ACCESS_LOWER_BOUND);
	put_part(scene, 0, HW_ACCESS_TIMES, 11, 12);
	put_part(scene, 0, HW_ACCESS_COUNTS, 13, 14);
	put_part(scene, 0, HW_ACCESS_BYTES, 15, 16);
	put_part(scene, 0, HW_ACCESS_RANGE, 17, 18);
	put_part(scene, 0, HW_ACCESS_COVERAGE, 19, 8);
	put_part(scene, 0, HW_ACCESS_SIDES, 18, 17);
	put_part(scene, 0, HW_ACCESS_END, 4096, 0);
	scene_end(scene);
	CHECK_EQ(row.chunk, 0);
	CHECK_EQ(row.flags, ACCESS_SHARED | ACCESS_LOWER_BOUND);
	CHECK_EQ(row.first_ticks, 11);
	CHECK_EQ(row.last_ticks, 12);
	CHECK_EQ(row.reads, 13);
	CHECK_EQ(row.writes, 14);
	CHECK_EQ(row.read_bytes, 15);
	CHECK_EQ(row.written_bytes, 16);
	CHECK_EQ(row.low, 17);
	CHECK_EQ(row.high, 18);
	CHECK_EQ(row.covered_bytes, 19);
	CHECK(row.sided);
	CHECK_EQ(row.side_bytes[HW_SIDE_READ], 18);
	CHECK_EQ(row.side_bytes[HW_SIDE_WRITTEN], 17);
	free(scene);
}

TEST(two_slots, "parts of two threads mix by their stamps and come apart again")
{
	struct scene *scene = scene_new(HW_ACCESS_ADAPTIVE);

	put(scene, 0, HW_MALLOC, 0, 4096, 64);
	put(scene, 1, HW_MALLOC, 0, 8192, 64);
	for (u32 slot = 0; slot < 2; slot++)
		put_part(scene, slot, HW_ACCESS_BLOCK, 4096 * (slot + 1), 0);
	for (u32 slot = 0; slot < 2; slot++)
		put_part(scene, slot, HW_ACCESS_COUNTS, 70 + slot, 0);
	for (u32 slot = 0; slot < 2; slot++)
		put_part(scene, slot, HW_ACCESS_END, 4096 * (slot + 1), 0);
	for (u32 slot = 0; slot < 2; slot++)
		put(scene, slot, HW_FREE, 0, 4096 * (slot + 1), 0);
	scene_end(scene);
	CHECK_STR(scene->story.text, "adaptive A0 A1 r0=70 r1=71 F0 F1 ");
	free(scene);
}

TEST(split, "parts may come in several cycles, and many blocks fill more than a batch")
{
	struct scene *scene = scene_new(HW_ACCESS_VALGRIND);
	u64 last;

	put(scene, 0, HW_MALLOC, 0, 4096, 64);
	put_part(scene, 0, HW_ACCESS_BLOCK, 4096, 0);
	image_cycle(scene->image, 0, true);
	put_part(scene, 0, HW_ACCESS_COUNTS, 7, 0);
	image_cycle(scene->image, 0, true);
	put_part(scene, 0, HW_ACCESS_END, 4096, 0);
	image_cycle(scene->image, 0, true);
	put(scene, 0, HW_FREE, 0, 4096, 0);
	for (last = 1; last <= IMAGE_BATCH; last++) {
		put(scene, 0, HW_MALLOC, 0, 4096 * last, 64);
		put_part(scene, 0, HW_ACCESS_BLOCK, 4096 * last, 0);
		put_part(scene, 0, HW_ACCESS_COUNTS, last, 0);
		put_part(scene, 0, HW_ACCESS_END, 4096 * last, 0);
		image_cycle(scene->image, 0, last % 100 == 0);
	}
	scene_end(scene);
	CHECK(strncmp(scene->story.text, "valgrind A0 r0=7 F0 A1 r1=1 A2 r2=2 ", 36) == 0);
	CHECK_EQ(scene->story.calls > 0, true);
	free(scene);
}

TEST(nested, "a signal handler's block does not mix with the one that it interrupts")
{
	struct scene *scene = scene_new(HW_ACCESS_EXACT);
	struct hw_record *nested = producer_ring(&scene->producer, 0) + 1024;
	static const struct part parts[] = { { 0, 8192, 0 }, { 2, 8, 0 }, { 15, 8192, 0 } };

	put(scene, 0, HW_MALLOC, 0, 4096, 64);
	put(scene, 0, HW_MALLOC, 0, 8192, 64);
	put_part(scene, 0, HW_ACCESS_BLOCK, 4096, 0);
	put_part(scene, 0, HW_ACCESS_COUNTS, 7, 0);
	for (u32 i = 0; i < 3; i++)
		nested[i] = (struct hw_record){ .ticks = ++scene->ticks, .kind = HW_ACCESS,
						.aux = parts[i].aux, .address = parts[i].address,
						.size = parts[i].size };
	store_release(&scene->producer.slots[0].nested_head, 3);
	put_part(scene, 0, HW_ACCESS_END, 4096, 0);
	scene_end(scene);
	CHECK_STR(scene->story.text, "exact A0 A1 r1=8 r0=7 ");
	free(scene);
}

TEST(notes, "what could not be used is noted, and so is what the recorder counted")
{
	struct scene *scene = scene_new(HW_ACCESS_EXACT);

	scene->producer.control->access_checked = 900;
	scene->producer.control->access_heap = 600;
	scene->producer.control->access_max = 77;
	put_part(scene, 0, HW_ACCESS_COUNTS, 1, 1);
	put_part(scene, 0, HW_ACCESS_BLOCK, 4096, 0);
	put_part(scene, 0, HW_ACCESS_END, 4096, 0);
	scene_end(scene);
	CHECK_STR(scene->story.text, "exact access_checked=900 access_heap=600 access_max=77 "
				     "access_unknown=1 access_damaged=1 ");
	free(scene);
}

TEST(bad_mode, "a mode that there is not is none")
{
	struct scene *scene = scene_new(4711);

	CHECK_EQ(scene->image->damaged, 1);
	scene_end(scene);
	CHECK_STR(scene->story.text, "none ");
	free(scene);
}

TEST(plain, "a recording without accesses keeps no memory for them and notes nothing")
{
	struct scene *scene = scene_new(HW_ACCESS_NONE);

	put(scene, 0, HW_MALLOC, 0, 4096, 64);
	put(scene, 0, HW_FREE, 0, 4096, 0);
	image_cycle(scene->image, 0, true);
	CHECK(!scene->image->slots.data[0].gathers);
	scene_end(scene);
	CHECK_STR(scene->story.text, "none A0 F0 ");
	free(scene);
}
