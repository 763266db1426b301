/* SPDX-License-Identifier: MIT
 * The direct allocation table of mprof: functions that call the allocator themselves. */
#ifndef STUDY_ANALYSIS_MPROF_DIRECT_H
#define STUDY_ANALYSIS_MPROF_DIRECT_H

#include "study/analysis/mprof/calls.h"

/* A table named "direct", <TOTAL> first; NULL and err on failure. */
struct result *analyse_mprof_direct(const struct mprof_calls *calls, struct err *err);

#endif
