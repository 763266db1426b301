/* SPDX-License-Identifier: MIT
 * --alloc-fn and --free-fn of heapwise run. Host. */
#ifndef CLI_RUN_POOLS_H
#define CLI_RUN_POOLS_H

#include "base/options.h"
#include "format/session.h"
#include "monitor/run.h"

struct run_pools {
	struct hw_pool items[HW_POOLS];
	u32 count;
	bool below_valgrind;
};

/* Reads NAME[:ARGUMENT] of both options; ERR_USAGE if one cannot be meant. */
int run_pools_read(struct run_pools *self, const struct option_strings *allocs,
		   const struct option_strings *frees, struct err *err);

/* Says on stderr which functions were not recorded, and why. */
void run_pools_say(const struct run_pools *self, const struct run_result *result);

#endif
