/* SPDX-License-Identifier: MIT
 * Routines that begin and end, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_ROUTINES_H
#define HOST_TRACE_ROUTINES_H

#include "host/trace/columns.h"
#include "host/trace/stream.h"

/* ---- writing ---- */

struct routines; /* payload of a routines block under construction */

struct routines *routines_new(void); /* NULL without memory; nothing below needs any more */
void routines_free(struct routines *self);

/* Takes as many rows as the block has room for, at least one if it is not full; returns how
 * many. */
u64 routines_add(struct routines *self, const struct stream_routine *rows, u64 count);
u32 routines_count(const struct routines *self);

/* The block, whose parts are its head and the columns; starts a new one. NULL without memory. */
struct parcel *routines_take(struct routines *self);

/* ---- reading ---- */

struct routine_reader;
struct guard;

struct routine_reader *routine_reader_new(void);
void routine_reader_free(struct routine_reader *self);

/* 0; or a negative code of the sink, with err filled; or a positive enum block_status if the
 * payload is bad, after what came before it was told. */
int routines_tell(struct routine_reader *self, const struct block *block, struct guard *to,
		  struct err *err);

#endif
