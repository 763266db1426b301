/* SPDX-License-Identifier: MIT
 * Types that the program told, on their way to the sink; a part of the correlator. A row whose
 * block is not settled yet, because events of its address wait, stays loose until the birth of the
 * block is told. Runs on the drain thread; tells nothing by itself. */
#ifndef LIVE_DRAIN_TYPE_ROWS_H
#define LIVE_DRAIN_TYPE_ROWS_H

#include "host/base/vec.h"
#include "host/trace/stream.h"

struct told_record;

struct type_loose {
	u64 address; /* in the block */
	u64 identity, count;
	u32 ticks;  /* low bits */
	u32 serial; /* of the birth that waits */
};

struct type_rows {                    /* all zero = empty and ready */
	VEC(struct stream_type) out;  /* to be told, after the events that are */
	VEC(struct type_loose) loose; /* oldest first */
	u64 unknown;                  /* whose block was never told */
};

void type_rows_release(struct type_rows *self);

/* What a HW_TYPE record says once its parts are together: size is the identity, context the
 * count. */
struct type_loose type_loose_of(const struct told_record *told);

/* Keeps it, unless there are too many; false without memory. */
bool type_rows_loosen(struct type_rows *self, const struct type_loose *loose);

/* Takes out the oldest row that waits for this birth; false if there is none. */
bool type_rows_take(struct type_rows *self, const struct told_record *birth,
		    struct type_loose *loose);

#endif
