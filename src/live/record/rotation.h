/* SPDX-License-Identifier: MIT
 * One recording in several traces, one after the other: each begins with all that its events will
 * name and with what lives, so that it can be read alone. Stands between an image and the trace, on
 * the drain thread; needs memory for what lives, not for what was. */
#ifndef LIVE_RECORD_ROTATION_H
#define LIVE_RECORD_ROTATION_H

#include "host/base/arena.h"
#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

struct rotation_options {
	/* a new file when the present one is so large, or so old; 0 = never for this reason */
	u64 bytes, ns;
	u64 keep; /* files that are kept, the present one included; 0 = all */
};

struct rotation {
	struct stream_sink trace; /* of the present file */
	bool told;                /* an image is, and has not ended */
	struct arena texts;       /* of the image and its modules */
	struct stream_image image;
	VEC(struct stream_module) modules;
	VEC(struct stream_thread) threads;
	VEC(struct stream_context) contexts;
	/* each with its number in the present file; moved when one ends */
	VEC(struct event) live;
	struct map by_chunk;         /* number that the image gave -> index in live */
	VEC(u64) chunks;             /* the same the other way round */
	VEC(struct event) batch;     /* scratch */
	u64 next;                    /* number of the next chunk in the file */
	u64 ticks;                   /* of the last event */
	struct stream_totals totals; /* of the present file */
	u64 live_bytes;
};

void rotation_release(struct rotation *self);

/* What the image is given instead of the trace's sink. */
struct stream_sink rotation_sink(struct rotation *self);

/* Ends the present file, if an image is being told, and goes on with another. */
int rotation_turn(struct rotation *self, const struct stream_sink *trace, struct err *err);

#endif
