/* SPDX-License-Identifier: MIT
 * Whoever listens to a recording while it goes on, and may ask for memory to be monitored.
 * Everything here is called on the drain thread, which must not be held up: rings fill
 * meanwhile. */
#ifndef LIVE_DRAIN_TAP_H
#define LIVE_DRAIN_TAP_H

#include "host/base/vec.h"
#include "format/session.h"
#include "host/trace/stream.h"

struct image;

/* Allocations that ended before they were read (HW_RUN_LASTING): by realloc, and others. */
struct tap_unread {
	u64 mallocs, reallocs;
	u64 moved; /* of both: a realloc ended them, too */
};

/* Monitored memory was touched; what it belongs to is open from then on. */
struct tap_hit {
	u64 ticks;
	u64 address;
	u32 context; /* a context that was told, 0 = none */
	u32 flags;   /* HW_HIT_* */
};

struct tap {
	void *self;
	/* Told all that the program's trace is told, at the end of each cycle at the latest. */
	struct stream_sink sink;
	/* After the events of the same cycle. This and what follows may be NULL. */
	void (*hit)(void *self, const struct tap_hit *hit);
	/* A command was done: its result, and when. */
	void (*done)(void *self, const struct hw_command *command);
	/* The end of a cycle: the image that lives, by which commands are given. */
	void (*cycle)(void *self, struct image *image, u64 now_ns);
	/* The program is about to end: whether its memory is to be scanned for this, should nobody
	 * else ask. NULL = it is. */
	bool (*wants_last_scan)(void *self, u64 now_ns);
};

/* Two sinks as one: first the trace's, whose failure counts, then the tap's. */
struct tap_tee {
	struct stream_sink first, second;
};
struct stream_sink tap_join(struct tap_tee *self, const struct stream_sink *first,
			    const struct stream_sink *second);

#endif
