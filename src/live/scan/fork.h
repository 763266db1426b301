/* SPDX-License-Identifier: MIT
 * A copy of the memory of a process that stands still: a process that the kernel makes by
 * copy-on-write, which runs nothing and is held until it was read. The program can go on as soon as
 * it is there.
 *
 * One thread of the program makes it, in code of the recorder (format/arch/fork.h). The copy is
 * nobody's child that the program could wait for, has no file open, and ends with the thread that
 * holds it. */
#ifndef LIVE_SCAN_FORK_H
#define LIVE_SCAN_FORK_H

#include "format/session.h"
#include "live/scan/memory.h"
#include "live/scan/trace.h"

struct scan_piece {
	u64 start, bytes;
	u64 *words;
};

struct scan_fork { /* all zero = none */
	u32 pid;
	/* Memory of the process that the copy does not have as it was: shared with others, or kept
	 * from forks. Copied where it may hold pointers, within limits. */
	VEC(struct scan_piece) pieces;
	u64 missing_bytes; /* that were too many to be copied */
};

/* The process stands still for the tracer, which must be called from the same thread. Negative if
 * it cannot be, with the reason in err; then the process stands as before, unless *lost: one of its
 * threads may run, and the tracer must be given up. */
int scan_fork_make(struct scan_fork *self, struct tracer *tracer, const struct hw_control *control,
		   bool *lost, struct err *err);

/* Before the process is let go: copies what the fork lacks. `memory` is the process's, and becomes
 * that of the fork with the mappings of the process. */
void scan_fork_complete(struct scan_fork *self, struct scan_memory *memory);

/* Calls `words` for what was copied of [start, end). Returns the bytes. */
u64 scan_fork_each_word(const struct scan_fork *self, u64 start, u64 end,
			void (*words)(void *data, u64 address, const u64 *words, u64 count),
			void *data);

/* Ends the copy. */
void scan_fork_end(struct scan_fork *self);

#endif
