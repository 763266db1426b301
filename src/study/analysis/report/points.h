/* SPDX-License-Identifier: MIT
 * The allocation points that matter most, by one of five measures, with their stacks.
 * Defined in docs/METHODS.md, "Allocation points". */
#ifndef STUDY_ANALYSIS_REPORT_POINTS_H
#define STUDY_ANALYSIS_REPORT_POINTS_H

#include "study/analysis/places/stacks.h"

enum points_by {
	POINTS_BY_BYTES,
	POINTS_BY_PEAK,
	POINTS_BY_KEPT,
	POINTS_BY_TEMPORARY,
	POINTS_BY_ALLOCATIONS
};
enum { POINTS_MEASURES = POINTS_BY_ALLOCATIONS + 1 };

/* "bytes", "peak", "kept", "temporary", "count" */
bool points_by_parse(const char *word, enum points_by *by);

struct points_query {
	enum points_by by;
	u64 top;             /* rows, 0 = all */
	u64 temporary_slack; /* allocations that may come between */
};

/* A table; NULL and err on failure. */
struct result *analyse_points(const struct stack_source *source, const struct points_query *query,
			      struct err *err);

#endif
