/* SPDX-License-Identifier: MIT
 * The correlator against hand-made orders of records and against histories of many threads whose
 * stamps are coarse and whose records come late. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "live/drain/correlate.h"

/* ---- hand-made orders ------------------------------------------------------------------------ */

/* One letter per event: A allocation and F free of a known chunk, U free of an unknown one,
 * I implied free, x other; each followed by the chunk's number. */
struct story {
	char text[512];
	struct stream_aggregate aggregates[8];
	u64 aggregate_count;
};

static char event_letter(const struct event *event)
{
	if (event->flags & EVENT_IMPLIED)
		return 'I';
	if (hw_kind_allocates(event->kind))
		return 'A';
	if (!hw_kind_frees(event->kind))
		return 'x';
	return event->chunk == NO_CHUNK ? 'U' : 'F';
}

static int story_events(void *self_, const struct event *events, u64 count, struct err *err)
{
	struct story *self = self_;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		size_t used = strlen(self->text);
		char letter = event_letter(&events[i]);

		if (letter == 'U' || letter == 'x')
			snprintf(self->text + used, sizeof(self->text) - used, "%c ", letter);
		else
			snprintf(self->text + used, sizeof(self->text) - used, "%c%u ", letter,
				 (unsigned)events[i].chunk);
	}
	return 0;
}

static int story_aggregates(void *self_, const struct stream_aggregate *rows, u64 count,
			    struct err *err)
{
	struct story *self = self_;

	(void)err;
	for (u64 i = 0; i < count && i < 8; i++)
		self->aggregates[i] = rows[i];
	self->aggregate_count = count;
	return 0;
}

static struct stream_sink story_sink(struct story *story)
{
	return (struct stream_sink){
		.self = story, .events = story_events, .aggregates = story_aggregates
	};
}

static struct told_record make(char what, u64 address, u64 ticks, u32 thread)
{
	struct told_record told = { .thread = thread };

	told.record.kind = what == 'A' ? HW_MALLOC : what == 'F' ? HW_FREE : HW_LOST;
	told.record.address = address;
	told.record.ticks = ticks;
	told.record.size = 100;
	return told;
}

struct step {
	char what; /* A, F, L for lost events, or '.' for "time passes and waiting is given up" */
	u64 address;
	u64 ticks;
	u32 thread;
};

static const struct {
	const char *name;
	struct step steps[10];
	const char *want;
	u64 unknown, implied;
} orders[] = {
	{ "in order", { { 'A', 16, 1, 0 }, { 'F', 16, 2, 0 } }, "A0 F0 ", 0, 0 },
	{ "allocation before the free of its address",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'F', 16, 2, 0 } }, "A0 F0 A1 ", 0, 0 },
	{ "free before its allocation",
	  { { 'F', 16, 2, 0 }, { 'A', 16, 1, 1 } }, "A0 F0 ", 0, 0 },
	{ "a whole life before the free that made room for it",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'F', 16, 4, 1 }, { 'F', 16, 2, 0 } },
	  "A0 F0 A1 F1 ", 0, 0 },
	{ "two lives before the free that made room for them, all with one stamp",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 5, 1 }, { 'F', 16, 5, 1 }, { 'A', 16, 5, 1 },
	    { 'F', 16, 5, 0 } },
	  "A0 F0 A1 F1 A2 ", 0, 0 },
	{ "free and allocation with one stamp, free first",
	  { { 'F', 16, 5, 0 }, { 'A', 16, 5, 1 } }, "A0 F0 ", 0, 0 },
	{ "others do not wait",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'A', 32, 4, 1 }, { 'F', 32, 5, 1 },
	    { 'F', 16, 2, 0 } },
	  "A0 A1 F1 F0 A2 ", 0, 0 },
	{ "a free that never comes is implied",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { '.', 0, 0, 0 }, { 'F', 16, 4, 0 } },
	  "A0 I0 A1 F1 ", 0, 1 },
	{ "a free of a block that was never told is unknown",
	  { { 'F', 16, 1, 0 }, { '.', 0, 0, 0 }, { 'A', 16, 2, 0 } }, "U A0 ", 1, 0 },
	{ "double free",
	  { { 'A', 16, 1, 0 }, { 'F', 16, 2, 0 }, { 'F', 16, 3, 0 } }, "A0 F0 U ", 1, 0 },
	{ "double free before the address is handed out again by the only thread",
	  { { 'A', 16, 1, 0 }, { 'F', 16, 2, 0 }, { 'F', 16, 3, 0 }, { 'A', 16, 4, 0 },
	    { 'F', 16, 5, 0 } },
	  "A0 F0 U A1 F1 ", 1, 0 },
	{ "lost free, then lives go on",
	  { { 'L', 0, 0, 0 }, { 'A', 16, 1, 0 }, { 'A', 16, 3, 0 }, { 'F', 16, 4, 0 },
	    { 'A', 16, 5, 0 }, { '.', 0, 0, 0 } },
	  "x A0 I0 A1 F1 A2 ", 0, 1 },
	{ "a life that was stamped too late is put before the chunk that lives on",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'F', 16, 4, 1 }, { '.', 0, 0, 0 } },
	  "A0 A1 F1 ", 0, 0 },
	{ "a life long after a free that never came",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 1000000000, 1 }, { 'F', 16, 1000000001, 1 },
	    { '.', 0, 0, 0 } },
	  "A0 I0 A1 F1 ", 0, 1 },
	{ "a free that was stamped too late is believed in the end",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'F', 16, 9, 0 }, { '.', 0, 0, 0 } },
	  "A0 F0 A1 ", 0, 0 },
	{ "frees of two threads that were stamped the wrong way round",
	  { { 'A', 16, 1, 0 }, { 'F', 16, 2, 0 }, { 'F', 16, 3, 1 }, { 'A', 16, 4, 1 },
	    { '.', 0, 0, 0 } },
	  "A0 F0 A1 F1 ", 0, 0 },
	{ "address 0 is told and nothing else",
	  { { 'A', 0, 1, 0 }, { 'F', 0, 2, 0 } }, "A4294967295 U ", 0, 0 },
};

static void order_run(const struct step *steps, struct correlator *correlator)
{
	struct err err = { 0 };
	u64 time = 1;

	for (; steps->what; steps++) {
		struct told_record told =
			make(steps->what, steps->address, steps->ticks, steps->thread);

		correlator_set_time(correlator, time);
		if (steps->what == '.')
			CHECK_EQ(correlator_expire(correlator, ++time, &err), 0);
		else
			CHECK_EQ(correlator_feed(correlator, &told, 1, &err), 0);
	}
	CHECK_EQ(correlator_finish(correlator, &err), 0);
}

TEST(orders, "frees find their allocations in every order of arrival")
{
	for (u64 i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct story story = { 0 };
		struct stream_sink sink = story_sink(&story);
		struct correlator *correlator = correlator_new(&sink, false);
		struct stream_totals totals;

		order_run(orders[i].steps, correlator);
		correlator_totals(correlator, &totals);
		if (!CHECK_STR(story.text, orders[i].want))
			fprintf(stderr, "# in: %s\n", orders[i].name);
		CHECK_EQ(totals.unknown_frees, orders[i].unknown);
		CHECK_EQ(totals.implied_frees, orders[i].implied);
		CHECK_EQ(correlator_waiting(correlator), 0);
		correlator_free(correlator);
	}
}

/* As above, where blocks exist that were never told. */
static const struct {
	const char *name;
	struct step steps[10];
	const char *want;
	u64 unknown;
} strangers[] = {
	{ "a stranger's free, then its address again, by the same thread",
	  { { 'F', 16, 1, 0 }, { 'A', 16, 2, 0 }, { '.', 0, 0, 0 }, { 'F', 16, 3, 0 } },
	  "U A0 F0 ", 1 },
	{ "by another thread",
	  { { 'F', 16, 1, 0 }, { 'A', 16, 2, 1 }, { '.', 0, 0, 0 }, { 'F', 16, 3, 1 } },
	  "U A0 F0 ", 1 },
	{ "two strangers, one after the other",
	  { { 'F', 16, 1, 0 }, { 'F', 16, 2, 0 }, { 'A', 16, 3, 0 }, { 'F', 16, 4, 0 } },
	  "U U A0 F0 ", 2 },
	{ "an allocation that was published late is no stranger",
	  { { 'F', 16, 2, 0 }, { 'A', 16, 1, 1 } }, "A0 F0 ", 0 },
	{ "a stranger alone", { { 'F', 16, 1, 0 } }, "U ", 1 },
	{ "known chunks are as ever",
	  { { 'A', 16, 1, 0 }, { 'A', 16, 3, 1 }, { 'F', 16, 2, 0 }, { 'F', 16, 4, 1 } },
	  "A0 F0 A1 F1 ", 0 },
};

TEST(strangers, "a free of a block that was never told does not end the next one at its address")
{
	for (u64 i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		struct told_record mark = make('L', 0, 0, 0);
		struct story story = { 0 };
		struct stream_sink sink = story_sink(&story);
		struct correlator *correlator = correlator_new(&sink, false);
		struct stream_totals totals;
		struct err err = { 0 };

		mark.record.kind = HW_MARK;
		mark.record.aux = HW_MARK_PAUSED;
		if (i % 2)
			CHECK_EQ(correlator_feed(correlator, &mark, 1, &err), 0);
		else
			correlator_expect_strangers(correlator);
		order_run(strangers[i].steps, correlator);
		correlator_totals(correlator, &totals);
		if (!CHECK_STR(story.text + (i % 2 ? 2 : 0), strangers[i].want))
			fprintf(stderr, "# in: %s\n", strangers[i].name);
		CHECK_EQ(totals.unknown_frees, strangers[i].unknown);
		CHECK_EQ(totals.implied_frees, 0);
		CHECK_EQ(correlator_waiting(correlator), 0);
		correlator_free(correlator);
	}
}

TEST(totals, "totals, peak and kept follow the events")
{
	struct told_record records[6] = {
		make('A', 16, 1, 0), make('A', 32, 2, 0), make('F', 16, 3, 0),
		make('A', 48, 4, 0), make('A', 64, 5, 0), make('F', 64, 6, 0),
	};
	struct story story = { 0 };
	struct stream_sink sink = story_sink(&story);
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };

	records[4].record.size = 1000;
	CHECK_EQ(correlator_feed(correlator, records, 6, &err), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_EQ(totals.allocations, 4);
	CHECK_EQ(totals.frees, 2);
	CHECK_EQ(totals.bytes, 1300);
	CHECK_EQ(totals.freed_bytes, 1100);
	CHECK_EQ(totals.peak_bytes, 1200);
	CHECK_EQ(totals.peak_chunks, 3);
	CHECK_EQ(totals.peak_ticks, 5);
	CHECK_EQ(totals.kept_chunks, 2);
	CHECK_EQ(totals.kept_bytes, 200);
	correlator_free(correlator);
}

TEST(other_kinds, "durations and losses are summed, other kinds told as they are, threads skipped")
{
	struct told_record records[5] = { 0 };
	struct story story = { 0 };
	struct stream_sink sink = story_sink(&story);
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };

	records[0].record.kind = HW_DURATION;
	records[0].record.size = 70;
	records[1] = records[0];
	records[2].record.kind = HW_LOST;
	records[2].record.size = 5;
	records[3].record.kind = HW_THREAD;
	records[4].record.kind = HW_MMAP;
	CHECK_EQ(correlator_feed(correlator, records, 5, &err), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_STR(story.text, "x x x x ");
	CHECK_EQ(totals.durations, 2);
	CHECK_EQ(totals.duration_ticks, 140);
	CHECK_EQ(totals.lost_events, 5);
	correlator_free(correlator);
}

TEST(sampled, "sampled recordings do not tell frees of unknown blocks")
{
	struct told_record record = make('F', 16, 1, 0);
	struct story story = { 0 };
	struct stream_sink sink = story_sink(&story);
	struct correlator *correlator = correlator_new(&sink, true);
	struct stream_totals totals;
	struct err err = { 0 };

	CHECK_EQ(correlator_feed(correlator, &record, 1, &err), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_STR(story.text, "");
	CHECK_EQ(totals.frees, 0);
	CHECK_EQ(totals.unknown_frees, 0);
	correlator_free(correlator);
}

TEST(aggregates, "after the switch totals per context replace events")
{
	struct told_record before = make('A', 16, 1, 0);
	struct told_record after[3] = {make('A', 32, 2, 0), make('A', 48, 3, 0),
				       make('F', 16, 4, 0)};
	struct story story = { 0 };
	struct stream_sink sink = story_sink(&story);
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };

	before.record.context = 7;
	after[0].record.context = after[1].record.context = 9;
	after[2].record.context = 1000000;
	CHECK_EQ(correlator_feed(correlator, &before, 1, &err), 0);
	CHECK_EQ(correlator_aggregate(correlator, 2, &err), 0);
	CHECK_EQ(correlator_feed(correlator, after, 3, &err), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	CHECK_EQ(correlator_tell_aggregates(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_STR(story.text, "A0 ");
	CHECK_EQ(totals.allocations, 3);
	CHECK_EQ(totals.frees, 1);
	CHECK_EQ(totals.aggregated_from_ticks, 2);
	CHECK_EQ(story.aggregate_count, 2);
	CHECK_EQ(story.aggregates[0].context, 9);
	CHECK_EQ(story.aggregates[0].allocations, 2);
	CHECK_EQ(story.aggregates[0].bytes, 200);
	CHECK_EQ(story.aggregates[1].context, 7);
	CHECK_EQ(story.aggregates[1].frees, 1);
	CHECK_EQ(story.aggregates[1].freed_bytes, 100);
	correlator_free(correlator);
}

TEST(bounded, "a flood of frees of unknown blocks waits in bounded memory")
{
	struct story story = { 0 };
	struct stream_sink sink = { .self = &story };
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };
	u64 most = 0;

	for (u64 i = 1; i <= 3000000; i++) {
		struct told_record record = make('F', i * 16, i, 0);

		if (correlator_feed(correlator, &record, 1, &err) < 0)
			FAIL("%s", err.text);
		if (correlator_waiting(correlator) > most)
			most = correlator_waiting(correlator);
	}
	CHECK(most <= 1 << 20);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_EQ(totals.unknown_frees, 3000000);
	correlator_free(correlator);
}

TEST(hot_address, "a lost free at a busy address costs no quadratic time")
{
	struct story story = { 0 };
	struct stream_sink sink = { .self = &story };
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };

	for (u64 i = 0; i < 400002; i++) {
		struct told_record record = make(i < 2 ? "LA"[i] : i % 2 ? 'F' : 'A', 16, i, 0);

		if (correlator_feed(correlator, &record, 1, &err) < 0)
			FAIL("%s", err.text);
	}
	CHECK_EQ(correlator_waiting(correlator), 400000);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	CHECK_EQ(totals.implied_frees, 1);
	CHECK_EQ(totals.allocations, 200001);
	CHECK_EQ(totals.frees, 200001);
	correlator_free(correlator);
}

/* ---- histories of many threads --------------------------------------------------------------- */

enum { THREADS_MAX = 64, BLOCKS_MAX = 4096 };

struct told_late {
	struct told_record told;
	u64 published_ns;
};

struct ring {
	struct told_late *records;
	u64 count, at, seen;
};

struct history {
	u32 threads;
	u32 shift;         /* low bits of stamps that are cleared */
	u32 late_percent;  /* records that are published up to 50 ms after their stamp */
	u32 behind_percent; /* stamps that are up to 10 ms too early */
	u64 handoff_ns;    /* a block takes this long to get to another thread */
	u64 steps;
	u64 seed;

	struct ring rings[THREADS_MAX];
	u64 ready_ns[THREADS_MAX]; /* when the thread acts again */
	u64 stamped[THREADS_MAX];  /* its last stamp: they never go back */
	struct { u64 address, since_ns; u32 serial, owner; } live[BLOCKS_MAX];
	u32 live_count;
	u64 spare[BLOCKS_MAX];     /* addresses, last freed on top: reused at once */
	u32 spare_count;
	u32 serial;
	u64 allocations, frees, bytes;
};

static u64 next_random(struct history *self)
{
	self->seed ^= self->seed << 13;
	self->seed ^= self->seed >> 7;
	return self->seed ^= self->seed << 17;
}

static u64 publish_delay(struct history *self)
{
	if (next_random(self) % 100 < self->late_percent)
		return next_random(self) % 50000000;
	return next_random(self) % 60;
}

static u64 history_stamp(struct history *self, u32 thread, u64 now)
{
	u64 *last = &self->stamped[thread], stamp = now;

	if (next_random(self) % 100 < self->behind_percent)
		stamp -= next_random(self) % (now < 10000000 ? now + 1 : 10000000);
	*last = stamp > *last ? stamp : *last;
	return *last >> self->shift << self->shift;
}

/* The free record carries its block's serial as context, the allocation as size: a free event that
 * was matched rightly has both equal. */
static void history_record(struct history *self, u32 thread, u64 now, u32 kind, u64 address,
			   u32 serial)
{
	struct ring *ring = &self->rings[thread];
	struct told_late *late = &ring->records[ring->count++];

	memset(late, 0, sizeof(*late));
	late->told.thread = thread;
	late->told.record.kind = (u8)kind;
	late->told.record.ticks = history_stamp(self, thread, now);
	late->told.record.address = address;
	late->told.record.size = kind == HW_FREE ? 0 : serial;
	late->told.record.context = serial;
	late->published_ns = now + publish_delay(self);
	self->ready_ns[thread] = late->published_ns + 20 + next_random(self) % 100;
}

static void history_allocate(struct history *self, u32 thread, u64 now)
{
	u32 serial = ++self->serial, at = self->live_count++;
	u64 address = self->spare[--self->spare_count];

	history_record(self, thread, now, HW_MALLOC, address, serial);
	self->live[at].address = address;
	self->live[at].serial = serial;
	self->live[at].owner = thread;
	self->live[at].since_ns =
		self->rings[thread].records[self->rings[thread].count - 1].published_ns;
	self->allocations++;
	self->bytes += serial;
}

static bool history_free(struct history *self, u32 thread, u64 now)
{
	u32 at = (u32)(next_random(self) % self->live_count);
	u64 wait = self->live[at].owner == thread ? 0 : self->handoff_ns;

	if (self->live[at].since_ns + wait >= now)
		return false;
	/* The address is free for others from now on, though this record may be published late. */
	history_record(self, thread, now, HW_FREE, self->live[at].address, self->live[at].serial);
	self->spare[self->spare_count++] = self->live[at].address;
	self->live[at] = self->live[--self->live_count];
	self->frees++;
	return true;
}

static u32 history_next_thread(const struct history *self)
{
	u32 best = 0;

	for (u32 i = 1; i < self->threads; i++) {
		if (self->ready_ns[i] < self->ready_ns[best])
			best = i;
	}
	return best;
}

static void history_make(struct history *self)
{
	for (u32 i = 0; i < self->threads; i++)
		self->rings[i].records = malloc(self->steps * sizeof(struct told_late));
	self->spare_count = 200;
	for (u32 i = 0; i < self->spare_count; i++)
		self->spare[i] = 0x1000 + i * 16;
	for (u64 i = 0; i < self->steps; i++) {
		u32 thread = history_next_thread(self);
		u64 now = self->ready_ns[thread];
		bool free_one = self->live_count && (next_random(self) % 2 || !self->spare_count);

		if (!free_one && self->spare_count)
			history_allocate(self, thread, now);
		else if (!self->live_count || !history_free(self, thread, now))
			self->ready_ns[thread] += 100;
	}
}

/* Feeds what is visible at `now`, by stamp, as a cycle of the monitor does. */
static void history_cycle(struct history *self, struct correlator *correlator, u64 now)
{
	u64 window = now > ((u64)1 << self->shift) ? now - ((u64)1 << self->shift) : 0;
	u64 limits[THREADS_MAX];
	struct err err = { 0 };

	for (u32 i = 0; i < self->threads; i++) {
		struct ring *ring = &self->rings[i];
		u64 known = ring->seen;

		while (ring->seen < ring->count && ring->records[ring->seen].published_ns <= now)
			ring->seen++;
		limits[i] = ring->seen;
		while (limits[i] > known && limits[i] > ring->at &&
		       ring->records[limits[i] - 1].told.record.ticks >= window)
			limits[i]--;
	}
	for (;;) {
		struct ring *best = NULL;

		for (u32 i = 0; i < self->threads; i++) {
			struct ring *ring = &self->rings[i];

			if (ring->at < limits[i] &&
			    (!best || ring->records[ring->at].told.record.ticks <
					      best->records[best->at].told.record.ticks))
				best = ring;
		}
		if (!best)
			return;
		if (correlator_feed(correlator, &best->records[best->at++].told, 1, &err) < 0)
			FAIL("%s", err.text);
	}
}

struct verdict {
	u64 events, wrong;
};

static int verdict_events(void *self_, const struct event *events, u64 count, struct err *err)
{
	struct verdict *self = self_;

	(void)err;
	self->events += count;
	for (u64 i = 0; i < count; i++) {
		if (hw_kind_frees(events[i].kind) && events[i].size != events[i].context)
			self->wrong++;
	}
	return 0;
}

/* Rows whose stamps are true, if coarse, must get every match right. Where stamps are wrong no
 * order can be known for sure: there, every count must be right, and few matches wrong. */
static const struct history histories[] = {
	{ .threads = 1, .late_percent = 0, .steps = 50000 },
	{ .threads = 2, .late_percent = 1, .steps = 80000 },
	{ .threads = 8, .late_percent = 2, .steps = 80000 },
	{ .threads = 64, .late_percent = 1, .steps = 80000 },
	{ .threads = 64, .late_percent = 20, .steps = 60000 },
	{ .threads = 2, .late_percent = 1, .shift = 10, .handoff_ns = 2100, .steps = 80000 },
	{ .threads = 8, .late_percent = 2, .shift = 10, .handoff_ns = 2100, .steps = 80000 },
	{ .threads = 64, .late_percent = 5, .shift = 10, .handoff_ns = 2100, .steps = 80000 },
	{ .threads = 2, .behind_percent = 1, .handoff_ns = 200, .steps = 80000 },
	{ .threads = 8, .behind_percent = 5, .handoff_ns = 200, .steps = 80000 },
	{ .threads = 64, .late_percent = 1, .behind_percent = 5, .steps = 80000 },
};

static void history_check(const struct history *row, u64 seed)
{
	struct history *history = malloc(sizeof(*history));
	struct verdict verdict = { 0 };
	struct stream_sink sink = { .self = &verdict, .events = verdict_events };
	struct correlator *correlator = correlator_new(&sink, false);
	struct stream_totals totals;
	struct err err = { 0 };
	u64 now = 0;

	*history = *row;
	history->seed = seed;
	history_make(history);
	for (u64 left = 1; left;) {
		now += 1 + next_random(history) % 300000;
		correlator_set_time(correlator, now);
		history_cycle(history, correlator, now);
		left = 0;
		for (u32 i = 0; i < history->threads; i++)
			left += history->rings[i].count - history->rings[i].at;
	}
	if (!history->behind_percent)
		CHECK_EQ(correlator_waiting(correlator), 0);
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	correlator_totals(correlator, &totals);
	if (history->behind_percent)
		CHECK(verdict.wrong * 20 < verdict.events);
	else
		CHECK_EQ(verdict.wrong, 0);
	CHECK_EQ(verdict.events, history->allocations + history->frees);
	CHECK_EQ(totals.allocations, history->allocations);
	CHECK_EQ(totals.frees, history->frees);
	CHECK_EQ(totals.bytes, history->bytes);
	CHECK_EQ(totals.unknown_frees, 0);
	CHECK_EQ(totals.implied_frees, 0);
	CHECK_EQ(totals.kept_chunks, history->live_count);
	for (u32 i = 0; i < history->threads; i++)
		free(history->rings[i].records);
	free(history);
	correlator_free(correlator);
}

TEST(histories, "late and coarsely stamped records of many threads find their chunks, all of them")
{
	for (u64 i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
		for (u64 seed = 1; seed <= 2; seed++) {
			history_check(&histories[i], seed * 0x9e3779b97f4a7c15ull + i);
			if (histories[i].steps == 0)
				FAIL("row %u is empty", (unsigned)i);
		}
	}
}
