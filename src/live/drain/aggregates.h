/* SPDX-License-Identifier: MIT
 * Totals per context, which stand for events once a trace may not grow any more. A part of the
 * correlator, on the drain thread. */
#ifndef LIVE_DRAIN_AGGREGATES_H
#define LIVE_DRAIN_AGGREGATES_H

#include "host/base/vec.h"
#include "host/trace/stream.h"

struct aggregates {              /* all zero = empty and ready */
	VEC(u32) row_of_context; /* number of the row + 1 */
	VEC(struct stream_aggregate) rows;
};

void aggregates_release(struct aggregates *self);

/* A chunk begins, or one that the context allocated ends; false without memory. */
bool aggregates_birth(struct aggregates *self, u32 context, u64 size);
bool aggregates_death(struct aggregates *self, u32 context, u64 size);

#endif
