/* SPDX-License-Identifier: MIT
 * The correlator's table of live blocks against a plain map, with addresses as close together, sizes
 * as large and regions as many as no single allocator would have them. */
#include <string.h>

#include "lib/test.h"
#include "host/base/map.h"
#include "live/drain/correlate.h"
#include "live/drain/live.h"

enum { ROUNDS = 400000 };

struct books {
	struct map sizes;  /* by address, of what should live */
	struct map chunks; /* by address */
	u64 wrong, allocations, frees, unknown;
};

static void books_birth(struct books *self, const struct event *event)
{
	self->allocations++;
	self->wrong += map_find(&self->sizes, event->address) != NULL;
	map_put(&self->sizes, event->address, event->size);
	map_put(&self->chunks, event->address, event->chunk);
}

static void books_death(struct books *self, const struct event *event)
{
	u64 size = 0, chunk = 0;
	bool known = map_remove(&self->sizes, event->address, &size) &&
		     map_remove(&self->chunks, event->address, &chunk);

	self->frees++;
	self->unknown += event->chunk == NO_CHUNK;
	self->wrong += !known || size != event->size || chunk != event->chunk;
}

static int books_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)err;
	for (u64 i = 0; i < count; i++) {
		if (hw_kind_allocates(events[i].kind))
			books_birth(self, &events[i]);
		else
			books_death(self, &events[i]);
	}
	return 0;
}

static u64 random_next(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 24;
}

struct heap { /* how a row lays out its blocks */
	u64 spacing, slots, region_step;
	u64 size_max;
};

/* Flips a random slot between dead and live, again and again. */
static void live_run(const struct heap *heap)
{
	struct books books = { 0 };
	struct stream_sink sink = { .self = &books, .events = books_events };
	struct correlator *correlator = correlator_new(&sink, false);
	struct err err = { 0 };
	struct map live = { 0 };
	u64 random = heap->spacing;

	for (u64 i = 0; i < ROUNDS; i++) {
		u64 slot = random_next(&random) % heap->slots;
		u64 address = 0x7f0000000000ull + slot * heap->spacing +
			      slot / 64 * heap->region_step;
		struct told_record told = { .record = { .ticks = i + 1, .address = address } };

		if (map_remove(&live, address, NULL)) {
			told.record.kind = HW_FREE;
		} else {
			map_put(&live, address, 1);
			told.record.kind = HW_MALLOC;
			told.record.size = random_next(&random) % heap->size_max;
			told.record.context = (u32)slot & 0xffffff;
		}
		CHECK_EQ(correlator_feed(correlator, &told, 1, &err), 0);
	}
	CHECK_EQ(correlator_finish(correlator, &err), 0);
	CHECK_EQ(books.wrong, 0);
	CHECK_EQ(books.unknown, 0);
	CHECK_EQ(books.allocations + books.frees, ROUNDS);
	CHECK_EQ(map_count(&books.sizes), map_count(&live));
	CHECK_EQ(correlator_waiting(correlator), 0);
	correlator_free(correlator);
	map_release(&books.sizes);
	map_release(&books.chunks);
	map_release(&live);
}

TEST(glibc, "blocks as glibc lays them out keep their sizes and numbers")
{
	live_run(&(struct heap){ .spacing = 48, .slots = 20000, .size_max = 40 });
}

TEST(close, "blocks 8 bytes apart keep their sizes and numbers")
{
	live_run(&(struct heap){ .spacing = 8, .slots = 20000, .size_max = 8 });
}

TEST(odd, "blocks at odd addresses keep their sizes and numbers")
{
	live_run(&(struct heap){ .spacing = 3, .slots = 5000, .size_max = 3 });
}

TEST(large, "blocks of more than 4 GiB keep their sizes and numbers")
{
	live_run(&(struct heap){ .spacing = 1 << 20, .slots = 3000, .size_max = (u64)1 << 40 });
}

TEST(scattered, "blocks all over the address space keep their sizes and numbers")
{
	live_run(&(struct heap){
		.spacing = 4096, .slots = 20000, .region_step = (u64)1 << 33, .size_max = 4096 });
}

TEST(wandering, "a heap that moves on takes no more leaves than it had at its largest, and some")
{
	enum { BLOCKS = 10000, MOVES = 30 };
	struct live_table table;

	CHECK(live_init(&table));
	for (u64 i = 0; i < (u64)MOVES * BLOCKS; i++) {
		struct live_block block = { .address = ((u64)1 << 40) + i * 256, .size = 16, .chunk = i };
		u64 before = block.address - (u64)BLOCKS * 256;

		CHECK(live_add(&table, live_prefetch(&table, block.address), &block));
		if (i >= BLOCKS)
			live_remove(&table, live_prefetch(&table, before), live_find(&table, before));
	}
	CHECK(live_find(&table, ((u64)1 << 40) + ((u64)MOVES * BLOCKS - 1) * 256) != NULL);
	CHECK(live_find(&table, (u64)1 << 40) == NULL);
	CHECK(table.leaves_used < 2 * BLOCKS);
	live_release(&table);
}
