/* SPDX-License-Identifier: MIT
 * Sums instead of events (`run --summary`): a recording tells them here, on its drain thread, and
 * its trace gets the sums at the end. Memory is bounded by what lives at once.
 *
 *	struct summary *summary = summary_new();
 *	tap.sink = summary_sink(summary);
 *	...                             the program runs, its trace is closed
 *	status = summary_write(summary, path, &err);
 *	summary_free(summary); */
#ifndef STUDY_OPEN_SUMMARY_H
#define STUDY_OPEN_SUMMARY_H

#include "study/open/sums.h"

struct summary;

struct summary *summary_new(void);
void summary_free(struct summary *self);

/* Takes everything but accesses, routines and pointers. */
struct stream_sink summary_sink(struct summary *self);

/* Appends the sums of all images that have ended. */
int summary_write(struct summary *self, const char *path, struct err *err);

#endif
