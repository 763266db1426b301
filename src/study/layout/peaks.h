/* SPDX-License-Identifier: MIT
 * The most bytes that chunks of one kind had live at once, for many kinds in one go. */
#ifndef STUDY_LAYOUT_PEAKS_H
#define STUDY_LAYOUT_PEAKS_H

#include "study/layout/scope.h"

/* peaks[key(chunk)] for all keys below `keys`; all of them NAN if there are too many events to put
 * them in order. */
int view_peaks(const struct view_scope *scope,
	       u32 (*key)(const struct view_scope *scope, const struct view_chunk *chunk),
	       double *peaks, u64 keys, struct err *err);

/* A change of what is live of one kind. */
struct key_moment {
	u64 ticks;
	i64 change;
	u32 key;
};

/* The changes that a chunk makes, at most two; how many. */
u32 peak_moments(const struct view_scope *scope, const struct view_chunk *chunk, u32 key,
		 struct key_moment *moments);

/* Puts the changes in order, and raises the peaks of their keys. */
void peaks_raise(struct key_moment *moments, u64 count, double *peaks);

#endif
