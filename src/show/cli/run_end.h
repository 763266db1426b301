/* SPDX-License-Identifier: MIT
 * What `heapwise run` was asked to do, and what it says at the end. */
#ifndef SHOW_CLI_RUN_END_H
#define SHOW_CLI_RUN_END_H

#include "show/cli/command.h"
#include "show/cli/loading.h"
#include "show/cli/run_pools.h"
#include "live/launch/run.h"

struct run_args {
	const char *output, *recorder, *leak_scan, *access, *stacks;
	const char *push, *spool;
	struct option_strings labels;
	bool coverage;
	bool alloc_stacks, free_stacks, durations, exact_times, symbols, types;
	bool mmap, lossy, children, unprofiled, start_paused;
	const char *toggle_signal, *toggle_file, *listen;
	bool progress, quiet, report, open;
	u64 access_epoch_ms, access_max;
	u64 sample_bytes, max_depth, max_size;
	u64 ring_records, test_stamp_shift;
	bool test_preempt;
	struct option_strings alloc_fns, free_fns, allocators;
	const char *lisp;
	const char *routines;
	u64 routine_sample;
	const char *dump;
	u64 dump_every;
};

/* Nothing is in the trace. */
bool run_is_empty(const struct run_args *args, const struct run_result *result);

/* Whether the first findings are to be told at the end, unless there is a reason not to. */
bool run_may_brief(const struct run_args *args);

/* On standard error: how it went, what is missing, what it cost, the first findings, and where to go on. */
void run_end_say(const struct run_args *args, const struct run_pools *pools, const struct run_result *result,
		 struct loading *loading);

#endif
