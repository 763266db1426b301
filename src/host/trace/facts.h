/* SPDX-License-Identifier: MIT
 * The small facts of the stream (images, modules, threads, clocks …) and the contexts, to and
 * from the payloads of their blocks. */
#ifndef HOST_TRACE_FACTS_H
#define HOST_TRACE_FACTS_H

#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/trace/block.h"
#include "host/trace/stream.h"

/* Payload of a facts block under construction. All zero = empty. */
struct facts {
	struct strbuf payload;
	struct strbuf body; /* of the record being built */
	u32 items;
};

void facts_add_image(struct facts *facts, const struct stream_image *image);
void facts_add_module(struct facts *facts, const struct stream_module *module);
void facts_add_thread(struct facts *facts, const struct stream_thread *thread);
void facts_add_clock(struct facts *facts, const struct stream_clock *clock);
void facts_add_usage(struct facts *facts, const struct stream_usage *usage);
void facts_add_memory(struct facts *facts, const struct stream_memory *memory);
void facts_add_name(struct facts *facts, const struct stream_name *name);
void facts_add_image_end(struct facts *facts, const struct stream_image_end *end);
void facts_add_note(struct facts *facts, const char *key, const char *value);

enum { AGGREGATE_ROWS = 4096 }; /* most that one record holds */
void facts_add_aggregates(struct facts *facts, const struct stream_aggregate *rows, u64 count);

enum { MEMORY_ROWS = 1 << 16 }; /* most that one record holds; the rest is left out */

/* Whether a row may follow one that ends there: by address and apart, since whoever looks for one
 * searches. Others are not written, and are damage where they are read. */
static inline bool facts_resident_fits(const struct stream_resident *row, u64 end)
{
	return row->start >= end && row->bytes <= UINT64_MAX - row->start &&
	       row->resident_bytes <= row->bytes && row->kind < MEMORY_KINDS && row->goes_on <= 1;
}

/* A scan is told in pieces of at most so many classes: `first` is the number of rows[0] in it. */
enum { SCAN_ROWS = 1 << 16 };
struct scan_piece {
	const struct stream_class *rows;
	u64 total, first, count;
};
void facts_add_scan(struct facts *facts, const struct stream_scan *scan,
		    const struct scan_piece *piece);

/* True if a record could not be built for want of memory. */
bool facts_failed(const struct facts *facts);
void facts_clear(struct facts *facts);
void facts_release(struct facts *facts);

/* Payload of a contexts block under construction. */
enum { CONTEXT_COLUMNS = 4, PC_SLOTS = 1024 };

struct context_model { /* starts anew in each block */
	u32 id;
	u64 pc;
	u64 next_pc[PC_SLOTS]; /* by the pc before it */
};

struct contexts {
	struct strbuf columns[CONTEXT_COLUMNS]; /* ids, parents, flags, pcs */
	struct context_model model;
	u32 items;
};

void contexts_add(struct contexts *contexts, const struct stream_context *context);

/* Bytes of the payload; its head, built into `head`, and the columns are its parts. */
enum { CONTEXTS_HEAD_ROOM = CONTEXT_COLUMNS * 10 };
u64 contexts_bytes(const struct contexts *contexts, u32 part_bytes[CONTEXT_COLUMNS + 1]);
void contexts_finish(struct contexts *contexts, u8 *out); /* copies it out and starts anew */
bool contexts_failed(const struct contexts *contexts);
void contexts_release(struct contexts *contexts);

/* The pieces of a scan, gathered from one block or several. All zero = none. */
struct decoder;
struct scan_gather {
	const struct decoder *decoder; /* knows the chunks' numbers; NULL = as the file has them */
	struct stream_scan scan;
	char *reason; /* owned; scan.reason points here */
	VEC(struct stream_class) rows;
	u64 total;
	bool open; /* there are pieces that were not told */
};

/* Tells what was gathered, if anything, though pieces may be missing. 0 or the sink's code. */
int scan_gather_tell(struct scan_gather *self, const struct stream_sink *sink, struct err *err);
void scan_gather_release(struct scan_gather *self);

/* Reading: tells the sink what the payload holds. 0; or a negative code of the sink, with err
 * filled; or a positive enum block_status if the payload is bad, after what came before it was
 * told. */
int facts_tell(const u8 *payload, u64 bytes, const struct stream_sink *sink,
	       struct scan_gather *gather, struct err *err);
int contexts_tell(const u8 *payload, u64 bytes, u32 items, const struct stream_sink *sink,
		  struct err *err);

static inline u32 context_pc_slot(u64 pc) { return (u32)((pc * 0x9e3779b97f4a7c15ull) >> 54); }
_Static_assert(PC_SLOTS == 1 << (64 - 54), "slot of a pc");

#endif
