/* SPDX-License-Identifier: MIT
 * What each thread allocated, and who freed it. */
#ifndef STUDY_LAYOUT_THREADS_H
#define STUDY_LAYOUT_THREADS_H

#include "study/layout/scope.h"

enum { THREAD_MATRIX = 32 }; /* threads of their own; all others are one more */

struct thread_row {
	u32 thread; /* number in the model */
	double chunks, bytes;
	double kept_chunks, kept_bytes;
	double frees_own,
		frees_other; /* by this thread: of chunks that it, or another, allocated */
	/* estimated time in the allocator, for its allocations and its frees; 0 = unknown */
	double alloc_ns;
	u64 last_ticks;    /* of its last allocation or free */
	double peak_bytes; /* NAN = too many events to tell */
	/* the outermost function of the program's own in its stacks; "" = not known */
	const char *begins_in;
	u32 looks; /* for it */
};

struct threads_view {                /* all zero = empty */
	VEC(struct thread_row) rows; /* most bytes first */
	/* Chunks by who allocated and who freed them: rows[0 … THREAD_MATRIX), others, and as last
	 * column never freed. */
	u64 matrix[THREAD_MATRIX + 1][THREAD_MATRIX + 2];
	u32 own;           /* threads that have a row in the matrix */
	u64 shared_chunks; /* accessed by several threads; 0 where accesses were not recorded */
	u64 foreign_frees;
};

int threads_view_make(struct threads_view *self, const struct view_scope *scope, struct err *err);
void threads_view_release(struct threads_view *self);

#endif
