/* SPDX-License-Identifier: MIT
 * The small facts of the stream (images, modules, threads, clocks …), to and from the payloads of
 * their blocks. */
#ifndef HOST_TRACE_FACTS_H
#define HOST_TRACE_FACTS_H

#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/trace/outbox.h"
#include "host/trace/stream.h"

/* Payload of a facts block under construction. All zero = empty. */
struct facts {
	struct strbuf payload; /* failed: a record could not be built for want of memory */
	struct strbuf body;    /* of the record being built */
	u32 items;
};

/* fact is the struct of the stream that the tag stands for: struct stream_clock of HW_FACT_CLOCK.
 * Of a memory only so many rows are kept as memory_rows.h says. */
void facts_add(struct facts *facts, enum hw_fact tag, const void *fact);

/* Those that are no struct. */
void facts_add_note(struct facts *facts, const char *key, const char *value);
enum { AGGREGATE_ROWS = 4096 }; /* most that one record holds */
void facts_add_aggregates(struct facts *facts, const struct stream_aggregate *rows, u64 count);

/* A scan is told in pieces of at most so many classes: `first` is the number of rows[0] in it. */
enum { SCAN_ROWS = 1 << 16 };
struct scan_piece {
	const struct stream_class *rows;
	u64 total, first, count;
};
void facts_add_scan(struct facts *facts, const struct stream_scan *scan,
		    const struct scan_piece *piece);

/* The block, and starts a new one; NULL if there was or is no memory. */
struct parcel *facts_take(struct facts *facts);
void facts_release(struct facts *facts);

/* The pieces of a scan, gathered from one block or several. All zero = none. */
struct decoder;
struct guard;
struct scan_gather {
	const struct decoder *decoder; /* knows the chunks' numbers; NULL = as the file has them */
	struct stream_scan scan;
	char *reason; /* owned; scan.reason points here */
	VEC(struct stream_class) rows;
	u64 total;
	bool open; /* there are pieces that were not told */
};
void scan_gather_release(struct scan_gather *self);

/* Tells the guard what the block holds. 0; or a negative code of the sink, with err filled; or a
 * positive enum block_status if the block is bad, after what came before it was told. */
int facts_tell(struct guard *guard, const struct block *block, struct scan_gather *gather,
	       struct err *err);

#endif
