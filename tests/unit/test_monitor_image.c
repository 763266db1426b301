/* SPDX-License-Identifier: MIT
 * An image read from a berth that the test fills: order of rings, threads, contexts, modules, and
 * memory that makes no sense. */
#include <stdlib.h>

#include "lib/test.h"
#include "live/drain/image.h"
#include "live/drain/image_tap.h"
#include "test_monitor_producer.h"

/* Everything that was told, as one text. */
struct diary {
	char text[4096];
	u64 events, contexts, modules;
	bool context_known[4096];
	u32 unknown_contexts; /* told or named before what they rest on */
};

static void diary_add(struct diary *self, const char *word, u64 number)
{
	size_t used = strlen(self->text);

	if (used < sizeof(self->text) - 40)
		snprintf(self->text + used, sizeof(self->text) - used, "%s%llu ", word,
			 (unsigned long long)number);
}

static int diary_events(void *self_, const struct event *events, u64 count, struct err *err)
{
	struct diary *self = self_;

	(void)err;
	self->events += count;
	for (u64 i = 0; i < count; i++) {
		diary_add(self, hw_kind_allocates(events[i].kind) ? "A" :
				hw_kind_frees(events[i].kind) ? "F" : "x", events[i].address);
		diary_add(self, "t", events[i].thread);
		if (events[i].context >= 4096 || !self->context_known[events[i].context])
			self->unknown_contexts += events[i].context != 0;
	}
	return 0;
}

static int diary_contexts(void *self_, const struct stream_context *contexts, u64 count,
			  struct err *err)
{
	struct diary *self = self_;

	(void)err;
	self->contexts += count;
	for (u64 i = 0; i < count; i++) {
		if (contexts[i].parent && !self->context_known[contexts[i].parent % 4096])
			self->unknown_contexts++;
		self->context_known[contexts[i].id % 4096] = true;
	}
	return 0;
}

static int diary_thread(void *self_, const struct stream_thread *thread, struct err *err)
{
	(void)err;
	diary_add(self_, "T", thread->tid);
	return 0;
}

static int diary_routines(void *self_, const struct stream_routine *rows, u64 count, struct err *err)
{
	static const char *const words[ROUTINE_STEPS] = { ">", "<", "+", "-" };
	struct diary *self = self_;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		diary_add(self, words[rows[i].step], rows[i].address);
		if (rows[i].step == ROUTINE_ALLOCATION)
			diary_add(self, "size", rows[i].value);
		diary_add(self, "t", rows[i].thread);
		if (rows[i].how)
			diary_add(self, "how", rows[i].how);
	}
	return 0;
}

static int diary_module(void *self_, const struct stream_module *module, struct err *err)
{
	struct diary *self = self_;
	size_t used = strlen(self->text);

	(void)err;
	self->modules++;
	snprintf(self->text + used, sizeof(self->text) - used, "%s%s%u ",
		 module->unloaded_ticks ? "-" : "+", module->path, module->id);
	return 0;
}

struct scene {
	struct berths berths;
	struct producer producer;
	struct berth berth;
	struct diary diary;
	struct image *image;
};

static struct scene *scene_new(u64 ring_records)
{
	struct scene *self = calloc(1, sizeof(*self));
	struct berths_options options = { .ring_records = ring_records };
	struct image_start start = { .program = "/bin/prog", .command = "prog" };
	struct stream_sink sink = {
		.self = &self->diary, .events = diary_events, .contexts = diary_contexts,
		.thread = diary_thread, .module = diary_module, .routines = diary_routines,
	};
	struct err err = { 0 };

	if (berths_open(&self->berths, &options, &err) < 0)
		FAIL("%s", err.text);
	if (!producer_join(&self->producer, self->berths.path, 4000000))
		FAIL("no berth");
	if (berths_take_claimed(&self->berths, &self->berth, &err) != 1)
		FAIL("claim not seen");
	self->image = image_new(&self->berth, &start, &sink, &err);
	if (!self->image)
		FAIL("%s", err.text);
	return self;
}

/* Reads all that there is, and ends. */
static void scene_end(struct scene *self, struct stream_totals *totals)
{
	struct stream_image_end end = { .how = IMAGE_EXITED };
	struct err err = { 0 };

	image_cycle(self->image, 0, true);
	CHECK_EQ(image_end(self->image, &end, totals, &err), 0);
	image_free(self->image);
	berths_give_back(&self->berths, &self->berth);
	berths_close(&self->berths);
}

TEST(merge, "rings are merged by stamp, and threads are told before their events")
{
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	producer_use_slots(&scene->producer, 2);
	producer_event(&scene->producer, 0, HW_THREAD, 100, 0, 1);
	producer_event(&scene->producer, 1, HW_THREAD, 200, 0, 2);
	producer_event(&scene->producer, 0, HW_MALLOC, 16, 5, 10);
	producer_event(&scene->producer, 1, HW_MALLOC, 32, 5, 20);
	producer_event(&scene->producer, 0, HW_FREE, 32, 0, 30);
	producer_event(&scene->producer, 1, HW_FREE, 16, 0, 40);
	image_cycle(scene->image, 0, false);
	CHECK_EQ(scene->producer.slots[0].tail, 3);
	CHECK_EQ(scene->producer.slots[1].tail, 3);
	scene_end(scene, &totals);
	CHECK_STR(scene->diary.text, "T100 T200 A16 t0 A32 t1 F32 t0 F16 t1 ");
	CHECK_EQ(totals.kept_chunks, 0);
	free(scene);
}

TEST(unread, "a birth that was marked is counted, and not told; what is read is claimed before")
{
	struct scene *scene = scene_new(16);
	u8 *marks = producer_marks(&scene->producer, 0);
	struct stream_totals totals;

	scene->image->claims = true;
	producer_use_slots(&scene->producer, 1);
	producer_event(&scene->producer, 0, HW_THREAD, 100, 0, 1);
	for (u64 i = 1; i < 12; i++) {
		producer_event(&scene->producer, 0, HW_MALLOC, 16 * i, 5, 1 + i);
		marks[i] = HW_MARK_ENDED;
	}
	marks[2] = 0;
	marks[9] |= HW_MARK_OF_REALLOC;
	marks[11] |= HW_MARK_OF_REALLOC;
	marks[3] |= HW_MARK_BY_REALLOC;
	marks[10] |= HW_MARK_BY_REALLOC;
	marks[11] |= HW_MARK_BY_REALLOC;
	CHECK_EQ(image_cycle(scene->image, 0, false), 12);
	CHECK_EQ(scene->producer.slots[0].tail, 12);
	CHECK_EQ(scene->producer.slots[0].claimed, 12);
	CHECK_EQ(image_unread(scene->image).mallocs, 8);
	CHECK_EQ(image_unread(scene->image).reallocs, 2);
	CHECK_EQ(image_unread(scene->image).moved, 3);
	scene_end(scene, &totals);
	CHECK_STR(scene->diary.text, "T100 A32 t0 ");
	CHECK_EQ(totals.allocations, 1);
	free(scene);
}

TEST(unsure, "an end whose birth may have been marked in time ends what was told, and else is no end of an unknown block")
{
	struct scene *scene = scene_new(16);
	struct hw_record end = {.kind = HW_FREE, .flags = HW_RECORD_UNSURE, .ticks = 4};
	struct stream_totals totals;

	producer_use_slots(&scene->producer, 1);
	producer_event(&scene->producer, 0, HW_THREAD, 100, 0, 1);
	producer_event(&scene->producer, 0, HW_MALLOC, 16, 5, 2);
	producer_event(&scene->producer, 0, HW_MALLOC, 32, 5, 3);
	producer_marks(&scene->producer, 0)[2] = HW_MARK_ENDED;
	for (end.address = 16; end.address <= 32; end.address += 16)
		producer_put(&scene->producer, 0, &end);
	image_cycle(scene->image, 0, false);
	scene_end(scene, &totals);
	CHECK_STR(scene->diary.text, "T100 A16 t0 F16 t0 ");
	CHECK_EQ(totals.frees, 1);
	CHECK_EQ(totals.unknown_frees, 0);
	free(scene);
}

TEST(held, "where short lives are only counted, records of a program that does not run are read when they are 100 ms old, or their ring fills up")
{
	const u64 cycle_ns = 20000000;
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	scene->berth.control->flags |= HW_RUN_LASTING;
	producer_use_slots(&scene->producer, 1);
	producer_event(&scene->producer, 0, HW_THREAD, 100, 0, 1);
	producer_event(&scene->producer, 0, HW_MALLOC, 16, 5, 2);
	producer_event(&scene->producer, 0, HW_MALLOC, 32, 5, 3);
	for (u32 i = 0; i < 5; i++)
		CHECK_EQ(image_cycle(scene->image, cycle_ns, false), 3);
	CHECK_EQ(scene->producer.slots[0].tail, 0);
	producer_marks(&scene->producer, 0)[1] = HW_MARK_ENDED;
	image_cycle(scene->image, cycle_ns, false);
	CHECK_EQ(scene->producer.slots[0].tail, 3);
	for (u64 i = 0; i < 12; i++)
		producer_event(&scene->producer, 0, HW_MALLOC, 64 + 16 * i, 5, 4 + i);
	image_cycle(scene->image, cycle_ns, false);
	CHECK(scene->producer.slots[0].tail >= 7);
	scene_end(scene, &totals);
	CHECK_EQ(totals.allocations, 13);
	free(scene);
}

TEST(young, "a record that is stamped in the future is read in the next cycle, not in this one")
{
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	producer_use_slots(&scene->producer, 1);
	producer_event(&scene->producer, 0, HW_MALLOC, 16, 5, 1);
	producer_event(&scene->producer, 0, HW_MALLOC, 32, 5, UINT64_MAX);
	CHECK_EQ(image_cycle(scene->image, 0, false), 1);
	CHECK_EQ(scene->producer.slots[0].tail, 1);
	CHECK_EQ(image_cycle(scene->image, 0, false), 1);
	CHECK_EQ(scene->producer.slots[0].tail, 2);
	scene_end(scene, &totals);
	CHECK_EQ(totals.allocations, 2);
	free(scene);
}

TEST(owners, "a recycled slot's records belong to its new owner, nested ones too")
{
	struct scene *scene = scene_new(16);
	struct producer *producer = &scene->producer;
	struct stream_totals totals;

	producer_use_slots(producer, 1);
	producer_event(producer, 0, HW_THREAD, 100, 0, 1);
	producer_event(producer, 0, HW_MALLOC, 16, 5, 2);
	producer_event(producer, 0, HW_THREAD, 200, 0, 3);
	producer_event(producer, 0, HW_FREE, 16, 0, 6);
	producer_ring(producer, 0)[producer->control->ring_records] = (struct hw_record){
		.ticks = 5, .address = 32, .size = 1, .kind = HW_MALLOC
	};
	store_release(&producer->slots[0].nested_head, 1);
	scene_end(scene, &totals);
	CHECK_STR(scene->diary.text, "T100 T200 A16 t0 A32 t1 F16 t1 ");
	free(scene);
}

TEST(routines, "routines are told in the order of their threads, and from then on allocations and frees with them")
{
	struct scene *scene = scene_new(16);
	struct producer *producer = &scene->producer;
	struct stream_totals totals;
	struct hw_record unwound = { .ticks = 60, .address = 7, .kind = HW_LEAVE, .aux = 1 };

	producer_use_slots(producer, 2);
	producer_event(producer, 0, HW_THREAD, 100, 0, 1);
	producer_event(producer, 1, HW_THREAD, 200, 0, 2);
	producer_event(producer, 0, HW_MALLOC, 16, 4, 5); /* before any routine */
	producer_event(producer, 0, HW_ENTER, 7, 99, 10);
	producer_event(producer, 1, HW_ENTER, 8, 0, 20);
	producer_event(producer, 0, HW_MALLOC, 32, 5, 30);
	producer_event(producer, 0, HW_FREE, 16, 0, 40);
	producer_event(producer, 1, HW_LEAVE, 8, 0, 50);
	producer_put(producer, 0, &unwound);
	scene_end(scene, &totals);
	CHECK_STR(scene->diary.text,
		  "T100 T200 >7 t0 >8 t1 +32 size5 t0 how1 -16 t0 how7 <8 t1 <7 t0 how1 "
		  "A16 t0 A32 t0 F16 t0 ");
	CHECK_EQ(totals.allocations, 2);
	free(scene);
}

TEST(routines_unwritten, "when only totals are kept, routines are counted and not told")
{
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	producer_use_slots(&scene->producer, 1);
	producer_event(&scene->producer, 0, HW_ENTER, 7, 0, 10);
	image_cycle(scene->image, 0, false);
	image_aggregate(scene->image);
	producer_event(&scene->producer, 0, HW_LEAVE, 7, 0, 20);
	image_cycle(scene->image, 0, true);
	CHECK(strstr(scene->diary.text, ">7 "));
	CHECK(!strstr(scene->diary.text, "<7 "));
	CHECK_EQ(scene->image->routines_unwritten, 1);
	scene_end(scene, &totals);
	free(scene);
}

TEST(contexts, "contexts are told once, ancestors first, and before the events that name them")
{
	struct scene *scene = scene_new(64);
	struct producer *producer = &scene->producer;
	struct hw_record record = { .kind = HW_MALLOC, .size = 1 };
	u32 outer = producer_node(producer, 0, 0x1000),
	    middle = producer_node(producer, outer, 0x2000);
	u32 leaves[2] = {producer_node(producer, middle, 0x3000),
			 producer_node(producer, middle, 0x4000)};
	struct stream_totals totals;

	producer_use_slots(producer, 1);
	for (u32 i = 0; i < 20; i++) {
		record.address = 16 + i * 16;
		record.ticks = i;
		record.context = leaves[i % 2];
		producer_put(producer, 0, &record);
	}
	scene_end(scene, &totals);
	CHECK_EQ(scene->diary.contexts, 4);
	CHECK_EQ(scene->diary.unknown_contexts, 0);
	CHECK_EQ(totals.allocations, 20);
	free(scene);
}

TEST(bad_contexts, "contexts that lead nowhere, in a circle or out of the table do no harm")
{
	struct scene *scene = scene_new(16);
	struct producer *producer = &scene->producer;
	struct hw_record record = { .kind = HW_MALLOC, .size = 1, .ticks = 1 };
	struct stream_totals totals;

	producer_use_slots(producer, 1);
	producer->nodes[1] = (struct hw_node){ .pc = 1, .parent = 2 };
	producer->nodes[2] = (struct hw_node){ .pc = 2, .parent = 1 };
	producer->nodes[3] = (struct hw_node){ .pc = 3, .parent = UINT32_MAX };
	producer->nodes[4] = (struct hw_node){ .pc = 4, .parent = 4 };
	for (u32 i = 1; i <= 5; i++) {
		record.address = i * 16;
		record.context = i < 5 ? i : producer->control->nodes_max;
		producer_put(producer, 0, &record);
	}
	image_cycle(scene->image, 0, false);
	CHECK_EQ(scene->image->damaged, 4);
	scene_end(scene, &totals);
	CHECK_EQ(scene->diary.unknown_contexts, 0);
	CHECK_EQ(totals.allocations, 5);
	free(scene);
}

TEST(modules, "modules are told in order, once more when they go, also around the end of the log")
{
	struct scene *scene = scene_new(16);
	struct producer *producer = &scene->producer;
	struct stream_totals totals;
	char path[4000];

	producer_module(producer, HW_MODULE_LOADED, 0x1000, "", 0);
	producer_module(producer, HW_MODULE_LOADED, 0x5000, "/lib/a.so", 0);
	producer_module(producer, HW_MODULE_UNLOADED, 0x5000, "/lib/a.so", 0);
	producer_module(producer, HW_MODULE_LOADED, 0x5000, "/lib/b.so", 0);
	producer_module(producer, HW_MODULE_LISTED, 0x7000, "/lib/c.so", 0);
	image_cycle(scene->image, 0, false);
	CHECK_STR(scene->diary.text, "+/bin/prog0 +/lib/a.so1 -/lib/a.so1 +/lib/b.so2 +/lib/c.so3 ");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	scene->diary.text[0] = 0;
	for (u32 i = 0; i < 300; i++) {
		producer_module(producer, HW_MODULE_LOADED, 0x10000 + i * 0x1000, path, 0);
		image_cycle(scene->image, 0, false);
		scene->diary.text[0] = 0;
	}
	CHECK_EQ(scene->diary.modules, 305);
	CHECK_EQ(scene->image->damaged, 0);
	scene_end(scene, &totals);
	free(scene);
}

static const u32 bad_sizes[] = { 4, 8, 12, 1000000, UINT32_MAX, 0x7ffffff8 };

TEST(bad_modules, "a module note of a senseless size ends the reading of the log and nothing else")
{
	for (u64 i = 0; i < sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++) {
		struct scene *scene = scene_new(16);
		struct stream_totals totals;

		producer_module(&scene->producer, HW_MODULE_LOADED, 0x1000, "/lib/a.so",
				bad_sizes[i]);
		producer_use_slots(&scene->producer, 1);
		producer_event(&scene->producer, 0, HW_MALLOC, 16, 5, 1);
		image_cycle(scene->image, 0, false);
		CHECK_EQ(scene->diary.modules, 0);
		CHECK_EQ(scene->image->damaged, 1);
		scene_end(scene, &totals);
		CHECK_EQ(totals.allocations, 1);
		free(scene);
	}
}

TEST(garbage, "memory full of random bytes is read to the end without harm")
{
	for (u64 seed = 1; seed <= 20; seed++) {
		struct scene *scene = scene_new(64);
		struct producer *producer = &scene->producer;
		struct stream_totals totals;
		u64 random = seed * 0x9e3779b97f4a7c15ull;

		for (u64 *at = (u64 *)producer->slots; at < (u64 *)(producer->slots + 8); at++)
			*at = random = random * 6364136223846793005ull + 1442695040888963407ull;
		for (u64 *at = (u64 *)producer_ring(producer, 0);
		     at < (u64 *)producer_ring(producer, 8); at++)
			*at = random = random * 6364136223846793005ull + 1442695040888963407ull;
		for (u64 *at = (u64 *)producer->nodes; at < (u64 *)(producer->nodes + 4096); at++)
			*at = random = random * 6364136223846793005ull + 1442695040888963407ull;
		producer->control->slots_used = seed % 2 ? 8 : UINT32_MAX;
		image_cycle(scene->image, 0, false);
		for (u32 i = 0; i < 8; i++) {
			producer->slots[i].head += 60;
			producer->slots[i].nested_head += 50;
		}
		producer->control->modules_head = random;
		image_cycle(scene->image, 0, false);
		scene_end(scene, &totals);
		CHECK(scene->diary.events > 0);
		free(scene);
	}
}

TEST(pressure, "a ring is pressed when it is more than half full")
{
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	producer_use_slots(&scene->producer, 1);
	image_cycle(scene->image, 0, false);
	CHECK(!image_pressed(scene->image));
	for (u32 i = 0; i < 8; i++)
		producer_event(&scene->producer, 0, HW_MALLOC, 16 + i * 16, 5, i);
	CHECK(image_pressed(scene->image));
	image_cycle(scene->image, 0, false);
	CHECK(!image_pressed(scene->image));
	scene_end(scene, &totals);
	free(scene);
}

static int failing_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)self;
	(void)events;
	(void)count;
	return err_set(err, ERR_SYSTEM, "no more");
}

TEST(failure, "when telling fails the rings are emptied all the same, and the end says why")
{
	struct scene *scene = scene_new(16);
	struct stream_sink sink = { .events = failing_events };
	struct stream_image_end end = { .how = IMAGE_EXITED };
	struct image_start start = { .program = "p", .command = "p" };
	struct stream_totals totals;
	struct err err = { 0 };
	struct image *image = image_new(&scene->berth, &start, &sink, &err);

	producer_use_slots(&scene->producer, 1);
	for (u32 i = 0; i < 5000; i++) {
		producer_event(&scene->producer, 0, HW_MALLOC, 16 + i * 16, 5, i);
		image_cycle(image, 0, true);
	}
	CHECK_EQ(scene->producer.slots[0].tail, 5000);
	CHECK(image_end(image, &end, &totals, &err) < 0);
	CHECK_STR(err.text, "no more");
	image_free(image);
	scene_end(scene, &totals);
	free(scene);
}

TEST(faults, "counters of faults reach the totals, those that drop events as losses")
{
	struct scene *scene = scene_new(16);
	struct stream_totals totals;

	scene->producer.control->faults[HW_FAULT_RING_FULL] = 5;
	scene->producer.control->faults[HW_FAULT_NO_SLOT] = 2;
	scene->producer.control->faults[HW_FAULT_STACK_CUT] = 9;
	scene_end(scene, &totals);
	CHECK_EQ(totals.lost_events, 7);
	CHECK_EQ(totals.faults[HW_FAULT_STACK_CUT], 9);
	free(scene);
}
