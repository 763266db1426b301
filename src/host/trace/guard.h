/* SPDX-License-Identifier: MIT
 * Stands between a file and a sink and makes sure that the sink is told a stream that keeps the
 * contract of stream.h, even if parts of the file are missing or made up. */
#ifndef HOST_TRACE_GUARD_H
#define HOST_TRACE_GUARD_H

#include "format/tracefile.h"
#include "host/trace/stream.h"

struct guard;

struct guard *guard_new(const struct stream_sink *out);
void guard_free(struct guard *guard);

/* The following calls are about image number `image` of the file. Returns false if that cannot be,
 * because a later image was seen or it has ended. */
bool guard_enter(struct guard *guard, u32 image);

/* What the file says goes on to the sink. What breaks the contract is put right or dropped, and
 * counted. fact is the struct of the stream that the tag stands for. */
int guard_fact(struct guard *guard, enum hw_fact tag, const void *fact, struct err *err);
int guard_note(struct guard *guard, const char *key, const char *value, struct err *err);
int guard_contexts(struct guard *guard, const struct stream_context *contexts, u64 count,
		   struct err *err);
int guard_aggregates(struct guard *guard, const struct stream_aggregate *rows, u64 count,
		     struct err *err);
int guard_scan(struct guard *guard, const struct stream_scan *scan,
	       const struct stream_class *classes, u64 count, struct err *err);
int guard_graph(struct guard *guard, const struct stream_graph *graph, struct err *err);
int guard_accesses(struct guard *guard, const struct stream_access *rows, u64 count,
		   struct err *err);
int guard_types(struct guard *guard, const struct stream_type *rows, u64 count, struct err *err);

/* Events and routines, which are put right in place. */
int guard_events(struct guard *guard, struct event *events, u64 count, struct err *err);
int guard_routines(struct guard *guard, struct stream_routine *rows, u64 count, struct err *err);

/* Names that were not told and facts that were dropped. */
u64 guard_lost_names(const struct guard *guard);

#endif
