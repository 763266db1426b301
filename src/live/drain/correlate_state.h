/* SPDX-License-Identifier: MIT
 * The correlator's inside, for correlate.c, which matches births and deaths, and correlate_rows.c,
 * which has what is told of chunks beside: their accesses and their types. */
#ifndef LIVE_DRAIN_CORRELATE_STATE_H
#define LIVE_DRAIN_CORRELATE_STATE_H

#include "live/drain/access.h"
#include "live/drain/aggregates.h"
#include "live/drain/live.h"
#include "live/drain/type_rows.h"
#include "live/drain/waiting.h"

enum { OUT_EVENTS = 1024 }; /* handed to the sink at once */

struct correlator {
	struct stream_sink sink;
	bool drop_unknown;
	bool aggregating;
	bool threads;   /* more than one has spoken */
	bool strangers; /* see correlator_expect_strangers */
	struct live_table live;
	struct waiting waiting;
	u64 now_ns;
	u64 next_chunk;
	u64 events;
	u64 live_bytes, live_chunks;
	struct stream_totals totals;
	struct aggregates aggregates;
	struct access_rows accesses;
	struct type_rows types;
	u32 serial;    /* the last that a record got */
	u64 out_first; /* chunks from this one on are not told yet, or are in `out` */
	u32 out_count;
	struct event out[OUT_EVENTS];
};

static inline int correlate_no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory while matching frees with allocations");
}

static inline bool block_is_live(const struct live_block *block)
{
	return (block->chunk & ~LIVE_QUEUED) != LIVE_NOTHING;
}

static inline bool block_is_queued(const struct live_block *block)
{
	return block->chunk & LIVE_QUEUED;
}

static inline void block_set_chunk(struct live_block *block, u64 chunk)
{
	block->chunk = (block->chunk & LIVE_QUEUED) | chunk;
}

static inline void block_set_birth(struct correlator *self, struct live_block *block, u32 birth)
{
	*(block_is_queued(block) ? &self->waiting.queues.data[block->extra].birth : &block->extra) =
		birth;
}

static inline u32 block_birth(const struct correlator *self, const struct live_block *block)
{
	return block_is_queued(block) ? self->waiting.queues.data[block->extra].birth
				      : block->extra;
}

/* ---- correlate_rows.c ---- */

/* Hand to the sink what is to be told: accesses before the events, since they belong to chunks that
 * were told before and may end now; types after them, since they belong to chunks that are born
 * now. */
int rows_flush_accesses(struct correlator *self, struct err *err);
int rows_flush_types(struct correlator *self, struct err *err);

/* One record of a kind. */
int rows_feed_access(struct correlator *self, const struct told_record *told, struct err *err);
int rows_feed_vtable(struct correlator *self, const struct hw_record *record, struct err *err);
int rows_feed_type(struct correlator *self, const struct told_record *told, struct err *err);

/* Of a record that waited, size is the number of the row that waited with it, see
 * feed_death_slowly. */
int rows_tell_waiting_access(struct correlator *self, const struct told_record *death, u64 chunk,
			     struct err *err);

/* The birth of a block that waited was told: so are the types that waited for it. */
int rows_settle_types(struct correlator *self, const struct live_block *block,
		      const struct told_record *birth, int status, struct err *err);

/* No free came for these: their blocks live on, or were never told. */
int rows_finish_accesses(struct correlator *self, struct err *err);

#endif
