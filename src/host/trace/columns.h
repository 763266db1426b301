/* SPDX-License-Identifier: MIT
 * A block that is written column by column: the columns' lengths as varints, then the columns.
 * Columns are texts that grow; see accesses.h and types.h for what is in them. */
#ifndef HOST_TRACE_COLUMNS_H
#define HOST_TRACE_COLUMNS_H

#include "host/base/err.h"
#include "host/base/strbuf.h"

struct cursor; /* cursor.h */

enum { COLUMNS_MAX = 16 };

/* Bytes of the block; those of its head and of each column go to part_bytes, which has room for one
 * more than there are columns. */
u64 columns_bytes(const struct strbuf *columns, u32 count, u32 *part_bytes);

/* Writes the block and empties the columns. */
void columns_finish(struct strbuf *columns, u32 count, u8 *out);

/* Whether there was no memory for one of them. */
bool columns_failed(const struct strbuf *columns, u32 count);

void columns_release(struct strbuf *columns, u32 count);

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

/* 0; or what `tell` has returned; or BLOCK_CONTENT if the payload is bad, after what came before it
 * was told. */
int columns_tell(const struct columns_reading *to, const u8 *payload, u64 bytes, u32 items,
		 struct err *err);

#endif
