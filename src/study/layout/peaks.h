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

#endif
