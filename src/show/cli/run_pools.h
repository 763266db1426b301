/* SPDX-License-Identifier: MIT
 * --alloc-fn, --free-fn and --allocator of heapwise run. Host. */
#ifndef SHOW_CLI_RUN_POOLS_H
#define SHOW_CLI_RUN_POOLS_H

#include "host/base/options.h"
#include "format/session.h"
#include "live/launch/run.h"

struct run_pools {
	struct hw_pool items[HW_POOLS];
	u32 count;
	u32 allocators; /* bits of enum hw_allocator */
	bool below_valgrind;
};

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

#endif
