/* SPDX-License-Identifier: MIT
 * What one image of a program did with its heap, in numbers. Defined in docs/METHODS.md,
 * "Totals". */
#ifndef STUDY_ANALYSIS_SUMMARY_SUMMARY_H
#define STUDY_ANALYSIS_SUMMARY_SUMMARY_H

#include "study/model/model.h"
#include "study/result/result.h"

struct summary_query {
	const struct trace_info *info; /* of the file; NULL for a live source */
	u32 image;                     /* number of the image in the file */
	u64 temporary_slack;
};

/* A record named "report"; NULL and err on failure. */
struct result *analyse_summary(const struct model *model, const struct summary_query *query,
			       struct err *err);

/* A table of allocations by size class (powers of two), part "sizes". */
struct result *analyse_sizes(const struct model *model, struct err *err);

/* Events that are known to be missing. */
u64 summary_lost_events(const struct model *model);

/* True if every event of the image is in the model. */
bool summary_complete(const struct model *model, const struct trace_info *info);

/* Says on result what its numbers do not cover. */
void add_caveats(struct result *result, const struct model *model, const struct trace_info *info);

#endif
