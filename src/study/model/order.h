/* SPDX-License-Identifier: MIT
 * The events of a model in the order of their times, with sums: what was live at any moment, in all
 * and by allocation point, and the lowest and highest value in between, without a pass over the
 * chunks. Of a model that was opened by its index; others have none (order.count is 0), and what is
 * asked must be found from the columns.
 *
 *	u64 from = order_find(model, from_ticks), to = order_find(model, to_ticks);
 *	struct order_range range = order_range(model, from, to);
 *
 * Events at one moment: frees come first, because they were stamped before and allocations after;
 * then they are in the order of their chunks. A chunk whose free is not after its allocation is
 * never live and has no events. "Bytes" and "units" are what chunks stand for, see model_weigh. */
#ifndef STUDY_MODEL_ORDER_H
#define STUDY_MODEL_ORDER_H

#include "study/model/model.h"

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

/* What each point has live before an event; points[] has room for all. If it holds what they had
 * before the event `known` (ORDER_NONE = it does not), that may be nearer than what the index has.
 * At most every / 2 events are looked at. */
#define ORDER_NONE UINT64_MAX
void order_points(const struct model *model, u64 event, u64 known, struct point_live *points);

/* When an event happened. */
u64 order_ticks(const struct model *model, u64 event);

/* For index.c: puts the order of a loaded model, whose zones are known, into its index. */
int order_write(struct model *model, struct index_writer *out, struct err *err);

/* Takes what the index holds; false if it is not all there, or leads somewhere else. */
bool order_take(struct model *model);

#endif
