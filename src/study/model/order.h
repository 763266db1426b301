/* SPDX-License-Identifier: MIT
 * The events of a model in the order of their times, with sums: what was live at any moment, in all and by allocation
 * point, and the lowest and highest value in between, without a pass over the chunks. Of a model that was opened by
 * its index; others have none (order.count is 0), and what is asked must be found from the columns.
 *
 *	u64 from = order_find(model, from_ticks), to = order_find(model, to_ticks);
 *	struct order_range range = order_range(model, from, to);
 *
 * Events at one moment: frees come first, because they were stamped before and allocations after; then they are in
 * the order of their chunks. A chunk whose free is not after its allocation is never live and has no events. "Bytes" and "units" are what chunks stand for, see model_weigh. */
#ifndef STUDY_MODEL_ORDER_H
#define STUDY_MODEL_ORDER_H

#include "format/types.h"

struct model;
struct index_writer;
struct err;

enum { ORDER_BLOCK = 256, ORDER_STEP = 64, ORDER_LEVELS = 3 }; /* of one level to the next */

/* Events of a block, and what was live before the first of them. Lows and highs are those after each event. */
struct order_block {
	u64 ticks; /* of the first */
	i64 bytes, units;
	i64 low_bytes, high_bytes;
	i64 low_units, high_units;
};

struct point_live {
	i64 bytes, units;
};

struct event_order {      /* all zero = there is none */
	const u32 *codes; /* chunk << 1 | 1 if it is freed */
	u64 count;
	/* Blocks of 256 events, of 64 of these, and of 64 of those. */
	const struct order_block *blocks[ORDER_LEVELS];
	const struct point_live
		*snapshots; /* what points had live before events 1 × every, 2 × every … */
	u64 snapshot_count, every;
	const i64 *peaks; /* by point: most bytes that it had live at once */
};

struct order_range {
	i64 first_bytes, first_units; /* live before the first event */
	i64 last_bytes, last_units;   /* and after the last */
	i64 low_bytes, high_bytes;    /* of all these values */
	i64 low_units, high_units;
};

/* How many events are before these ticks. */
u64 order_find(const struct model *model, u64 ticks);

/* Of events [first, end). */
struct order_range order_range(const struct model *model, u64 first, u64 end);

/* The first event of [first, end) after which so many bytes are live, of which there is one. */
u64 order_reaches(const struct model *model, u64 first, u64 end, i64 bytes);

/* What each point has live before an event; points[] has room for all. At most every / 2 events are looked at. */
void order_points(const struct model *model, u64 event, struct point_live *points);

/* When an event happened. */
u64 order_ticks(const struct model *model, u64 event);

/* For index.c: puts the order of a loaded model, whose zones are known, into its index. */
int order_write(struct model *model, struct index_writer *out, struct err *err);

/* Takes what the index holds; false if it is not all there, or leads somewhere else. */
bool order_take(struct model *model);

#endif
