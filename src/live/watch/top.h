/* SPDX-License-Identifier: MIT
 * The allocation points with most live bytes, of all that lives or of what one thread allocated.
 * Works on memory only. */
#ifndef LIVE_WATCH_TOP_H
#define LIVE_WATCH_TOP_H

#include "live/watch/areas.h"

#define TOP_ALL_THREADS UINT32_MAX

struct top_query {
	u32 thread; /* index of a told thread, or TOP_ALL_THREADS */
	u32 limit;  /* rows */
};

struct top_row {
	u32 context;
	u64 areas, bytes;
};

struct top_found {
	VEC(struct top_row) rows;    /* of all points, most bytes first */
	VEC(struct top_row) threads; /* by index, whoever was asked for; context is the index */
};

/* False without memory. */
bool top_points(const struct areas *areas, u32 thread, struct top_found *found);
void top_release(struct top_found *found);

#endif
