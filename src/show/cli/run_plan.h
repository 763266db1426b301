/* SPDX-License-Identifier: MIT
 * What `heapwise run` was asked to do: its options, and the plan that is made of them. */
#ifndef SHOW_CLI_RUN_PLAN_H
#define SHOW_CLI_RUN_PLAN_H

#include "show/cli/command.h"
#include "show/cli/run_pools.h"

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

extern const struct option_spec run_option_table[];
extern const struct run_args run_defaults;

struct run_plan {
	const struct run_args *args;
	struct run_pools pools;
	/* all but what is made when it is carried out: a spool's output, the symbols ahead, the
	 * owner */
	struct run_options options;
};

/* Reads the options, and checks that they can be meant; ERR_USAGE if not. Opens, writes and changes
 * nothing. */
int run_plan_make(struct run_plan *self, const struct run_args *args, char **argv, struct err *err);

#endif
