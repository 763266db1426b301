/* SPDX-License-Identifier: MIT
 * A pass over all chunks, divided among threads: each has its own part of the pages, and its own
 * sums. */
#ifndef STUDY_LAYOUT_DIVIDE_H
#define STUDY_LAYOUT_DIVIDE_H

#include "study/layout/scope.h"

enum { DIVIDE_MAX = 4 };

/* How many parts a pass of this scope is worth: 1 if it is small, or there is one processor. */
u32 view_parts(const struct view_scope *scope);

/* Calls work(part, first, end) for each part, at the same time: chunks [first, end), whole pages.
 * Returns the first failure. Parts are numbered from 0 and of about the same size. */
int view_divide(const struct view_scope *scope, u32 parts,
		int (*work)(void *data, u32 part, u64 first, u64 end, struct err *err), void *data,
		struct err *err);

#endif
