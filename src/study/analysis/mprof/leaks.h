/* SPDX-License-Identifier: MIT
 * The memory leak table of mprof: partial call chains over which memory was allocated and never
 * freed. */
#ifndef STUDY_ANALYSIS_MPROF_LEAKS_H
#define STUDY_ANALYSIS_MPROF_LEAKS_H

#include "study/analysis/mprof/text.h"

struct mprof_leaks_query {
	enum mprof_verbosity verbosity;
	u32 depth;              /* callers that make a chain, 0 = all */
	bool offsets;           /* two calls in one function are two chains */
	const char *debug_path; /* more folders with debug files, for offsets; may be NULL */
};

/* A table named "leaks"; NULL and err on failure. */
struct result *analyse_mprof_leaks(const struct mprof_calls *calls,
				   const struct mprof_leaks_query *query, struct err *err);

#endif
