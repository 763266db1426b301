/* SPDX-License-Identifier: MIT
 * Launches a program with the recorder, drains it until it ends, and writes its trace. */
#ifndef LIVE_LAUNCH_RUN_H
#define LIVE_LAUNCH_RUN_H

#include "host/base/vec.h"
#include "live/launch/options.h"
#include "host/trace/stream.h"

struct run_result {
	int wait_status; /* as from waitpid, of the program */
	/* the last signal that was sent to us alone and given to the program, 0 = none */
	int passed_signal;
	bool recorded; /* false: ran unprofiled, or nothing attached */
	/* the system refused what recording needs; the program was not started, but may well be */
	bool go_without;
	char output[4096];  /* trace file of the program's last recording (or folder) */
	VEC(char *) traces; /* all files that were written, owned */
	u64 trace_bytes;
	u64 images; /* images of the program that were recorded */
	u64 duration_ns;
	bool accesses;               /* were to be recorded */
	bool plain_accesses;         /* and no module that was loaded is instrumented */
	bool routines;               /* some were recorded */
	bool routine_stacks;         /* stacks were made of them */
	struct stream_totals totals; /* of the last image of the program */
	/* that were recorded; and sums over the last image of each, of peaks the highest: */
	u64 processes;
	u64 all_allocations, all_frees, all_bytes, all_kept_bytes, all_kept_chunks,
		highest_peak_bytes;
	u64 highest_events; /* of the process with that peak, and its trace, "" = none */
	char highest[4096];
	u64 unrecorded_children, unrecorded_execs, berth_shortage;
	u64 unreachable; /* processes that could not open the shared memory */
	u64 unmapped;    /* program images whose shared memory the monitor could not map */
	char unmapped_reason[sizeof(((struct err *)0)->text)];
	u64 starved; /* processes whose recording ended early: the monitor had too little memory */
	u64 broken;  /* or it failed at something else, the first of them at this */
	struct err broken_error;
	/* why there was no shared memory for further program images; "" = there was */
	char shortage_reason[sizeof(((struct err *)0)->text)];
	/* processes that it started still ran at its end, and nobody looked at them */
	bool left_behind;
	/* processes whose last image ended in another way than programs do */
	u64 unseen_ends;
	u64 owners_left_out; /* scans while the program ran */
	u64 unopened;        /* processes for which no trace could be opened, and why */
	int open_errno;
	int write_errno;           /* first error when writing the trace, e.g. ENOSPC */
	bool aggregated;           /* --max-size or the full disk stopped single events */
	u32 pool_states[HW_POOLS]; /* what became of the pools of run_options: enum hw_pool_state */
	u64 pool_refused[HW_POOLS]; /* their blocks whose size cannot be, and is recorded as 0 */
	char lisp_says[256];        /* "" or what the library of HW_RUN_LISP said of itself */
	/* what became of functions of known allocators: enum hw_entry_state */
	u8 entry_states[HW_ENTRIES_MAX];
	char control_problem[512]; /* "" or why `heapwise ctl` could not reach the recording */
	char runtime_hint
		[512]; /* "" or a sentence: memory that malloc does not see, and what helps */
};

/* Returns 0 when the program was started, whatever became of it; negative (err filled)
 * otherwise. */
int monitor_run(const struct run_options *options, struct run_result *result, struct err *err);
void run_result_release(struct run_result *result);

#endif
