/* SPDX-License-Identifier: MIT
 * What `heapwise run` says at the end. */
#ifndef SHOW_CLI_RUN_END_H
#define SHOW_CLI_RUN_END_H

#include "study/open/loading.h"
#include "show/cli/run_plan.h"

/* Nothing is in the trace. */
bool run_is_empty(const struct run_args *args, const struct run_result *result);

/* Whether the first findings are to be told at the end, unless there is a reason not to. */
bool run_may_brief(const struct run_args *args);

/* On standard error: how it went, what is missing, what it cost, the first findings, and where to
 * go on. */
void run_end_say(const struct run_plan *plan, const struct run_result *result,
		 struct loading *loading);

#endif
