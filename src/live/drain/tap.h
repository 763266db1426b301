/* SPDX-License-Identifier: MIT
 * Whoever listens to a recording while it goes on, and may ask for memory to be monitored. Everything here
 * is called on the drain thread, which must not be held up: rings fill meanwhile. */
#ifndef LIVE_DRAIN_TAP_H
#define LIVE_DRAIN_TAP_H

#include "host/base/vec.h"
#include "format/session.h"
#include "host/trace/stream.h"

struct image;

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
};

/* Two sinks as one: first the trace's, whose failure counts, then the tap's. */
struct tap_tee {
	struct stream_sink first, second;
};
struct stream_sink tap_join(struct tap_tee *self, const struct stream_sink *first,
			    const struct stream_sink *second);

/* For cycle(): asks for the unit of a block (its address and the ticks of its birth) to be armed or
 * disarmed. False if there is no room for more now. */
bool image_command(struct image *self, u32 verb, u64 address, u64 birth);

/* For cycle(): what hits may cost before everything is opened at once, and arming before nothing is armed any more; see
 * struct hw_pages. */
void image_allow(struct image *self, u64 spend_most, u64 fault_ticks, u64 arm_most_ns);

/* Commands that the helper has still to look at. What it has done is told later, see struct image, read_ticks. */
u64 image_commands_waiting(const struct image *self);
/* The memory is to be scanned now, for which the program stands still; the sink's scan() is told of it. */
void image_want_scan(struct image *self);
/* How many units one hit of a sweep may open with its own; 0 = none. */
void image_allow_around(struct image *self, u64 around_most);

/* Allocations that ended before they were read (run_options.lasting): by realloc, and others. */
struct tap_unread {
	u64 mallocs, reallocs;
};
struct tap_unread image_unread(const struct image *self);
/* From now on every allocation is read, however short its life. */
void image_tell_all(struct image *self);

/* The program's CPU time now, 0 if it cannot be read any more. */
u64 image_cpu_ns(const struct image *self);

/* What page monitoring has cost so far, as the recorder counts it; NULL if it is not monitored. */
const struct hw_pages *image_pages(const struct image *self);

/* For image.c: a HW_HIT record; 1 = not to be fed. And the end of a cycle. */
int tap_add_hit(struct image *self, const struct hw_record *record, struct err *err);
void tap_cycle(struct image *self, struct err *err);

#endif
