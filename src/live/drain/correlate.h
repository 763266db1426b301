/* SPDX-License-Identifier: MIT
 * Turns the records of all threads into events: each free finds the chunk that it ends, chunks are
 * numbered, totals are kept.
 *
 * Stamps are a hint, the address is the truth. A thread may lose the CPU between stamp and publish,
 * and a coarse counter gives ties, so that an allocation may be seen before the free that made its
 * address available, and a free before its allocation. At one address births and deaths alternate:
 * an event that does not fit waits, and with it the later ones of its address and no others, until
 * the missing one comes. What is missing when correlator_expire or correlator_finish gives up was
 * never told: the free is implied, or the freed block unknown.
 *
 * What the caller owes: records of one ring come in their order; a record is given only when
 * everything that was published before it was stamped is given too, now or earlier.
 *
 * Works on memory only; the sink is whatever the caller wants. */
#ifndef LIVE_DRAIN_CORRELATE_H
#define LIVE_DRAIN_CORRELATE_H

#include "live/drain/live_block.h"
#include "live/drain/told.h"
#include "host/trace/stream.h"

struct correlator;

/* sink is borrowed. drop_unknown: frees of unknown blocks are not told (sampled recordings). */
struct correlator *correlator_new(const struct stream_sink *sink, bool drop_unknown);
void correlator_free(struct correlator *self);

/* Blocks exist that were never told: they were allocated before the recording began, or while it
 * was paused. So a free that waits for its allocation is one of those as soon as its address is
 * handed out again. A mark of a pause has the same effect. */
void correlator_expect_strangers(struct correlator *self);
bool correlator_has_strangers(const struct correlator *self);

/* A row of accesses. A HW_ACCESS record with the block's address is fed later for each, in the same
 * order; it is told before the event that ends its chunk. False without memory. */
bool correlator_give_access(struct correlator *self, const struct stream_access *row);

/* Rows whose block was never told; all of them only after correlator_finish. */
u64 correlator_unknown_accesses(const struct correlator *self);

/* Tells the type of a chunk whose birth was fed, after it. (HW_TYPE records, whose size is an
 * identity and whose context a count, find their chunks themselves.) */
int correlator_tell_type(struct correlator *self, const struct stream_type *row, struct err *err);

/* The chunk that lives at the address and was born then, if nothing waits there; NO_CHUNK if there
 * is none. */
u64 correlator_chunk_born(struct correlator *self, u64 address, u32 birth);

/* Records of types whose block was never told. */
u64 correlator_unknown_types(const struct correlator *self);

/* Records in order of their stamps as far as possible. Kinds that neither allocate nor free are
 * told as they are, HW_THREAD is skipped. */
int correlator_feed(struct correlator *self, const struct told_record *records, u64 count,
		    struct err *err);

/* Time by which records are judged to have waited long enough; it never runs backwards. Records
 * fed after this call began to wait at `now`. */
void correlator_set_time(struct correlator *self, u64 now_ns);

/* Records that began to wait before `before_ns` are told as soon as births and deaths alternate,
 * whatever their stamps say. */
int correlator_relax(struct correlator *self, u64 before_ns, struct err *err);

/* Gives up on records that began to wait before `before_ns`. */
int correlator_expire(struct correlator *self, u64 before_ns, struct err *err);

/* No more records come: gives up on all that wait, and tells what is buffered. */
int correlator_finish(struct correlator *self, struct err *err);

/* Hands buffered events to the sink. */
int correlator_flush(struct correlator *self, struct err *err);

/* From now on no events are told, only totals per context are kept. */
int correlator_aggregate(struct correlator *self, u64 ticks, struct err *err);

/* Tells the totals per context, if correlator_aggregate was called. */
int correlator_tell_aggregates(struct correlator *self, struct err *err);

/* Totals up to now; kept_* say what lives at this moment. Faults are not filled in. */
void correlator_totals(const struct correlator *self, struct stream_totals *totals);

/* Whether a block that was told lives at the address. */
bool correlator_lives(struct correlator *self, u64 address);

u64 correlator_waiting(const struct correlator *self); /* records that wait */
u64 correlator_events(const struct correlator *self);  /* events so far, told or aggregated */
u64 correlator_live_bytes(const struct correlator *self);

/* Calls `each` for every live block, in no order, until it returns false; false then. Those that
 * are LIVE_QUEUED wait for others; see live_block.h. */
bool correlator_each_block(const struct correlator *self,
			   bool (*each)(void *data, const struct live_block *block), void *data);

#endif
