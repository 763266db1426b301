/* SPDX-License-Identifier: MIT
 * A block that is written column by column: some numbers and the columns' lengths as varints, then
 * the columns. What is in them: encode.h, contexts.h, accesses.h, routines.h, types.h. */
#ifndef HOST_TRACE_COLUMNS_H
#define HOST_TRACE_COLUMNS_H

#include "format/varint.h"
#include "host/base/strbuf.h"
#include "host/trace/outbox.h"

struct cursor; /* cursor.h */

enum { COLUMNS_MAX = PARCEL_PARTS - 1 };

/* ---- writing ---- */

/* Columns that grow. Want of memory is remembered. All zero = empty. */
struct columns {
	struct strbuf data[COLUMNS_MAX];
	u32 items; /* rows so far */
};

/* The block, whose parts are its head and the columns, which are empty then; NULL if there was or
 * is no memory. */
struct parcel *columns_take(struct columns *self, u32 count);
void columns_release(struct columns *self);

/* Columns with room for the worst case of a whole block: no check per byte. */
struct fixed_columns {
	u8 *at[COLUMNS_MAX];   /* their ends */
	u8 *base[COLUMNS_MAX]; /* their starts */
	u32 count;
};

/* room: most bytes that one row can add to each column. False without memory. */
bool fixed_columns_init(struct fixed_columns *self, const u8 *room, u32 count, u64 rows);
void fixed_columns_release(struct fixed_columns *self);
void fixed_columns_clear(struct fixed_columns *self);

/* The block, which begins with these numbers, at most two; NULL without memory. */
struct parcel *fixed_columns_take(struct fixed_columns *self, const u64 *numbers, u32 number_count);

static inline void fixed_columns_put(struct fixed_columns *self, u32 column, u64 value)
{
	self->at[column] = hw_varint_put(self->at[column], value);
}

static inline void fixed_columns_put_byte(struct fixed_columns *self, u32 column, u32 value)
{
	*self->at[column]++ = (u8)value;
}

/* ---- reading ---- */

enum { COLUMNS_BATCH = 256 };

/* Where rows come from and go to. Who reads keeps a batch of them. */
struct columns_reading {
	u32 columns, items_max;
	/* Reads the next row to place `at` of the batch. A row that cannot be marks a cursor as
	 * bad. */
	void (*get)(void *self, struct cursor *columns, u32 at);
	/* Tells the first `count` rows of the batch: 0 or a negative code, with err filled. */
	int (*tell)(void *self, u32 count, struct err *err);
	void *self;
};

/* 0; or what `tell` has returned; or BLOCK_CONTENT if the block is bad, after what came before it
 * was told. */
int columns_tell(const struct columns_reading *to, const struct block *block, struct err *err);

#endif
