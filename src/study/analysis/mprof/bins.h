/* SPDX-License-Identifier: MIT
 * The allocation bin table of mprof: what sizes were allocated, and which types have them. */
#ifndef STUDY_ANALYSIS_MPROF_BINS_H
#define STUDY_ANALYSIS_MPROF_BINS_H

#include "study/analysis/mprof/text.h"

struct mprof_bins_query {
	enum mprof_verbosity verbosity;
	bool log;      /* sizes from a power of two to the next; else each size up to 1024 */
	bool no_types; /* do not read debug info */
	const char *debug_path; /* more folders with debug files; may be NULL */
	u64 type_bytes;         /* of debug info to read, 0 = a bound that takes seconds */
};

/* A table named "bins"; NULL and err on failure. */
struct result *analyse_mprof_bins(const struct model *model, const struct mprof_bins_query *query,
				  struct err *err);

#endif
