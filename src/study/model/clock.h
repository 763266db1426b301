/* SPDX-License-Identifier: MIT
 * Turns ticks of the recorded machine's counter into ns since the image began, by pairs of readings
 * of both clocks. Between two pairs it interpolates, after the last it goes on at the mean rate. */
#ifndef STUDY_MODEL_CLOCK_H
#define STUDY_MODEL_CLOCK_H

#include "host/base/vec.h"
#include "host/trace/stream.h"

struct tick_clock {                     /* all zero = empty and ready */
	VEC(struct stream_clock) pairs; /* rising in both clocks; the first is the image's start */
};

/* Starts anew with the image's own pair; false if there is no memory. */
bool tick_clock_start(struct tick_clock *self, u64 ticks, u64 ns);

/* Adds a pair; one that does not rise in both clocks is passed over. */
bool tick_clock_tell(struct tick_clock *self, const struct stream_clock *pair);

/* False until two pairs are known: then ticks are taken as ns, and results must say so. */
bool tick_clock_known(const struct tick_clock *self);

/* ns since the start; 0 for ticks before it. */
u64 tick_clock_ns(const struct tick_clock *self, u64 ticks);

/* The inverse: the earliest ticks whose time is at least ns, so that for whatever was recorded
 * tick_clock_ns(ticks) >= ns is ticks >= tick_clock_ticks(ns). 0 for ns 0, because what was stamped
 * before the start is at 0, too; UINT64_MAX for a time that no ticks have. */
u64 tick_clock_ticks(const struct tick_clock *self, u64 ns);

/* A span of ticks in ns, at the mean rate of the whole run. */
double tick_clock_span_ns(const struct tick_clock *self, double ticks);

void tick_clock_release(struct tick_clock *self);

#endif
