/* SPDX-License-Identifier: MIT
 * What `heapwise run` was asked to do: its options, the plan that is made of them, and what is
 * said at the end. */
#ifndef SHOW_CLI_RUN_PLAN_H
#define SHOW_CLI_RUN_PLAN_H

#include "format/session.h"
#include "live/launch/run.h"
#include "show/cli/command.h"
#include "study/open/loading.h"

struct run_args {
	const char *output, *recorder, *leak_scan, *access, *stacks;
	const char *push, *spool;
	struct option_strings labels;
	bool coverage;
	bool alloc_stacks, free_stacks, durations, exact_times, symbols, types;
	bool mmap, lossy, summary, children, unprofiled, start_paused;
	const char *toggle_signal, *toggle_file, *listen;
	bool progress, quiet, report, open;
	u64 access_epoch_ms, access_max;
	u64 sample_bytes, max_depth, max_size;
	u64 ring_records, test_stamp_shift;
	bool test_preempt;
	struct option_strings alloc_fns, free_fns, allocators;
	const char *lisp, *owners;
	const char *routines;
	u64 routine_sample;
	const char *dump;
	u64 dump_every;
};

extern const struct option_spec run_option_table[];
extern const struct run_args run_defaults;

/* --alloc-fn, --free-fn and --allocator. */
struct run_pools {
	struct hw_pool items[HW_POOLS];
	u32 count;
	u32 allocators; /* bits of enum hw_allocator */
	bool below_valgrind;
};

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

/* ---- other allocators ---- */

/* Reads NAME[:ARGUMENT] of both, and NAME:=BYTES of those that allocate options; ERR_USAGE if one
 * cannot be meant. */
int run_pools_read(struct run_pools *self, const struct option_strings *allocs,
		   const struct option_strings *frees, struct err *err);

/* Reads the words of --allocator; none at all: those that are looked for by default. */
int run_allocators_read(struct run_pools *self, const struct option_strings *words,
			struct err *err);

/* Says on stderr which functions were not recorded, and why. */
void run_pools_say(const struct run_pools *self, const struct run_result *result);

/* Says that an allocator was found in the program itself; false if there was none. */
bool run_allocators_say(const struct run_result *result);

/* ---- the end ---- */

/* Nothing is in the trace. */
bool run_is_empty(const struct run_args *args, const struct run_result *result);

/* Whether sums are to be found while the program runs, unless there is a reason not to. */
bool run_may_follow(const struct run_args *args);

/* On standard error: how it went, what is missing, what it cost, the first findings, and where to
 * go on. */
void run_end_say(const struct run_plan *plan, const struct run_result *result,
		 struct loading *loading);

struct brief {
	bool one_of_many;    /* the trace is that of one of several processes */
	struct study *begun; /* of this trace, which is closed; NULL = the trace is read */
	bool may_read;       /* also if there is one, for what it could not find */
};

/* What was found while the program ran, which is stored in the trace, too; or the sums of the trace
 * if that has nothing else: loading NULL. NULL if there is neither. */
struct study *brief_open(const struct command *command, const char *path, struct loading *loading);

/* Says the first findings of a trace in a few lines; how many there are. */
u64 brief_findings(const struct command *command, const char *path, const struct brief *brief);

#endif
