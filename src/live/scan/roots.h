/* SPDX-License-Identifier: MIT
 * Where a program may keep pointers besides its blocks: writable memory less what belongs to the
 * allocator, to the recorder, and to parts of stacks that are not in use. */
#ifndef LIVE_SCAN_ROOTS_H
#define LIVE_SCAN_ROOTS_H

#include "format/session.h"
#include "live/scan/index.h"
#include "live/scan/memory.h"
#include "live/scan/thread.h"

struct scan_roots {                    /* all zero = empty */
	VEC(struct scan_span) without; /* no roots, in any order while they are collected */
	VEC(struct scan_span) spans;   /* the roots, sorted */
};

struct scan_surroundings {
	struct scan_memory *memory;
	const struct scan_index *index;
	const struct scan_thread *threads;
	u64 thread_count;
	/* memory of the recorder: its own, and the heap that it serves, if it does */
	const struct hw_range *own;
	u64 own_count;
	u32 pid; /* of the program; `memory` may be that of a copy */
};

int scan_roots_find(struct scan_roots *self, const struct scan_surroundings *around,
		    struct err *err);
void scan_roots_release(struct scan_roots *self);

#endif
