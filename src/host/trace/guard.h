/* SPDX-License-Identifier: MIT
 * Stands between a file and a sink and makes sure that the sink is told a stream that keeps the
 * contract of stream.h, even if parts of the file are missing or made up. */
#ifndef HOST_TRACE_GUARD_H
#define HOST_TRACE_GUARD_H

#include "host/trace/stream.h"

struct guard;

struct guard *guard_new(const struct stream_sink *out);
void guard_free(struct guard *guard);

/* The following calls are about image number `image` of the file. Returns false if that cannot be,
 * because a later image was seen or it has ended. */
bool guard_enter(struct guard *guard, u32 image);

/* The guard as a sink, for facts and contexts. Those that break the contract are counted. */
struct stream_sink guard_sink(struct guard *guard);

/* Events and routines, which are put right in place. */
int guard_events(struct guard *guard, struct event *events, u64 count, struct err *err);
int guard_routines(struct guard *guard, struct stream_routine *rows, u64 count, struct err *err);

/* Names that were not told and facts that were dropped. */
u64 guard_lost_names(const struct guard *guard);

#endif
