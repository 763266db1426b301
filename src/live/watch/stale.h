/* SPDX-License-Identifier: MIT
 * Single areas that were not touched for some time: bounded leaks, one by one. Works on memory
 * only. */
#ifndef LIVE_WATCH_STALE_H
#define LIVE_WATCH_STALE_H

#include "live/watch/areas.h"

enum { STALE_ROWS_MAX = 500 };

enum stale_sort { STALE_BY_IDLE, STALE_BY_SIZE, STALE_BY_AGE, STALE_BY_HITS };

struct stale_query {
	u64 after_ns; /* for so long a touch would have been noticed, and none was */
	enum stale_sort sort;
	bool rising;
	u32 limit; /* rows, at most STALE_ROWS_MAX */
};

struct stale_rows {
	u64 count, bytes; /* of all that are stale */
	u32 rows;
	const struct area *row[STALE_ROWS_MAX]; /* in the order that was asked for */
};

bool area_is_stale(const struct area *area, u64 after_ns, u64 now_ns);

void stale_find(const struct areas *areas, const struct stale_query *query, u64 now_ns,
		struct stale_rows *found);

#endif
