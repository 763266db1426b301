/* SPDX-License-Identifier: MIT
 * A pass over all chunks, divided among threads: each has its own part of the pages, and its own
 * sums. */
#ifndef STUDY_LAYOUT_DIVIDE_H
#define STUDY_LAYOUT_DIVIDE_H

#include "study/layout/scope.h"

enum { DIVIDE_MAX = 4 };

/* How many parts a pass of this scope is worth: 1 if it is small, or there is one processor. */
u32 view_parts(const struct view_scope *scope);

/* All parts of a pass. Each has a room for what it finds. */
struct view_division {
	u32 parts;
	u64 bytes;        /* of each room, which begins as zero, at a cache line */
	const char *what; /* there may be no memory for */
	void *rooms[DIVIDE_MAX];
};

/* One of them: chunks [first, end), whole pages. Parts are numbered from 0 and of about the same
 * size. */
struct view_part {
	u32 number, parts;
	u64 first, end;
	void *room;
};

/* Calls work for each part, at the same time. Returns the first failure. The rooms are released by
 * the caller in any case. */
int view_divide(const struct view_scope *scope, struct view_division *division,
		int (*work)(void *data, const struct view_part *part, struct err *err), void *data,
		struct err *err);
void view_division_release(struct view_division *self);

/* Adds up rooms of `count` doubles, and releases them. */
void view_division_sum(struct view_division *self, double *sums, u64 count);

#endif
