/* SPDX-License-Identifier: MIT
 * Hand-made streams for tests of the model: each call tells one fact, ticks rise by 10 per
 * event. */
#ifndef UNIT_TEST_MODEL_H
#define UNIT_TEST_MODEL_H

#include <string.h>

#include "lib/test.h"
#include "study/model/model.h"

struct feed {
	struct model *model;
	struct stream_sink sink;
	u64 ticks;
	u64 chunks;
	u32 thread; /* of the next event */
	struct err err;
};

static inline void told(struct feed *feed, int status)
{
	if (status < 0)
		FAIL("the model refused: %s", feed->err.text);
}

static inline void tell_image(struct feed *feed, u64 sample_bytes)
{
	struct stream_image image = {.pid = 42,
				     .start_ticks = 1000,
				     .start_ns = 5000,
				     .sample_bytes = sample_bytes,
				     .flags = HW_RUN_ALLOC_STACKS,
				     .program = "/bin/prog",
				     .command = "prog arg"};

	feed->ticks = 1000;
	feed->chunks = 0;
	told(feed, feed->sink.image(feed->sink.self, &image, &feed->err));
}

static inline struct feed feed_new(void)
{
	struct feed feed = {.model = model_new()};

	if (!feed.model)
		FAIL("out of memory");
	feed.sink = model_sink(feed.model);
	tell_image(&feed, 0);
	return feed;
}

static inline void tell_module(struct feed *feed, u32 id, u64 base, u32 generation,
			       const char *path)
{
	struct stream_module module = {.id = id,
				       .generation = generation,
				       .base = base,
				       .start = base,
				       .end = base + 0x10000,
				       .path = path};

	told(feed, feed->sink.module(feed->sink.self, &module, &feed->err));
}

static inline void tell_context(struct feed *feed, u32 id, u32 parent, u64 pc)
{
	struct stream_context context = {.id = id, .parent = parent, .pc = pc};

	told(feed, feed->sink.contexts(feed->sink.self, &context, 1, &feed->err));
}

static inline void tell_thread(struct feed *feed, u32 index)
{
	struct stream_thread thread = {.index = index, .tid = 100 + index};

	told(feed, feed->sink.thread(feed->sink.self, &thread, &feed->err));
}

static inline void tell_event(struct feed *feed, struct event event)
{
	feed->ticks += 10;
	if (!event.ticks)
		event.ticks = feed->ticks;
	event.thread = feed->thread;
	told(feed, feed->sink.events(feed->sink.self, &event, 1, &feed->err));
}

/* Returns the chunk. */
static inline u64 tell_alloc(struct feed *feed, u8 kind, u32 context, u64 size)
{
	u64 chunk = feed->chunks++;

	tell_event(feed, (struct event){.kind = kind,
					.context = context,
					.size = size,
					.chunk = chunk,
					.address = 0x1000 + 16 * chunk});
	return chunk;
}

static inline void tell_free(struct feed *feed, u8 kind, u64 chunk, u64 size)
{
	tell_event(feed, (struct event){.kind = kind,
					.chunk = chunk,
					.size = size,
					.address = 0x1000 + 16 * chunk});
}

static inline void tell_end(struct feed *feed, u32 how)
{
	struct stream_image_end end = {.ticks = feed->ticks + 10, .how = how};

	told(feed, feed->sink.image_end(feed->sink.self, &end, &feed->err));
}

#endif
