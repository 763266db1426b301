/* SPDX-License-Identifier: MIT
 * Tables that an index holds beside the columns, each one run of bytes that is mapped. The model's
 * own are checked when the index is opened. Others may store what they have made of a model; they
 * have to check what they read: whoever wrote the index could write anything. */
#ifndef STUDY_MODEL_STORED_H
#define STUDY_MODEL_STORED_H

#include "format/types.h"

struct err;

enum stored_kind {
	STORED_ORDER, /* u32, see study/model/order.h */
	STORED_BLOCKS,
	STORED_BLOCKS_MIDDLE,
	STORED_BLOCKS_COARSE,
	STORED_SNAPSHOTS,
	STORED_PEAKS,        /* i64 by point */
	STORED_POINT_FIRST,  /* u64 by point and one more, see study/model/by_point.h */
	STORED_POINT_CHUNKS, /* u32 */
	STORED_OTHERS,       /* and from here on what others store */
	STORED_KINDS = STORED_OTHERS + 8
};

struct stored {
	const void *data; /* NULL = there is none */
	u64 bytes;
	u64 tag; /* what its writer knows it by; 0 for the model's own */
};

/* A table of so many rows. */
#define STORED_ROWS(rows_, count_, tag_)                                                           \
	((struct stored){.data = (rows_), .bytes = (count_) * sizeof *(rows_), .tag = (tag_)})

/* ---- what the model makes of its own ---- */

enum { ORDER_BLOCK = 256, ORDER_STEP = 64, ORDER_LEVELS = 3 }; /* of one level to the next */

/* Events of a block, and what was live before the first of them. Lows and highs are those after
 * each event. */
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

/* Which chunks an allocation point has, in the order of their numbers. */
struct chunks_by_point {  /* all zero = there is none */
	const u64 *first; /* by point, and one more: its chunks end where those of the next begin */
	const u32 *chunks;
};

/* ---- writing ---- */

/* Where they are put while an index is written, one after the other. */
struct index_writer;

int stored_begin(struct index_writer *self, u32 kind, u64 tag, struct err *err);
/* More of the one that was begun last. */
int stored_add(struct index_writer *self, const void *bytes, u64 count, struct err *err);

static inline int stored_put(struct index_writer *self, u32 kind, struct stored table,
			     struct err *err)
{
	int status = stored_begin(self, kind, table.tag, err);

	return status < 0 ? status : stored_add(self, table.data, table.bytes, err);
}

#endif
