/* SPDX-License-Identifier: MIT
 * What `heapwise report` shows, as one result: totals, findings, the leading points, sizes,
 * marks. */
#ifndef STUDY_ANALYSIS_REPORT_REPORT_H
#define STUDY_ANALYSIS_REPORT_REPORT_H

#include "study/analysis/report/points.h"
#include "study/model/graphs.h"

enum { REPORT_FINDINGS, REPORT_POINTS }; /* the first parts of a report */

struct report_query {
	const struct trace_info *info; /* of the file; NULL for a live source */
	u32 image;                     /* number of the image in the file */
	struct graphs_source pointers; /* see struct findings_query */
	u64 top;                       /* rows of each list, 0 = all */
	u64 temporary_slack;
	bool one_list; /* of points, `by`; else one by each measure */
	enum points_by by;
};

/* A record named "report"; NULL and err on failure. */
struct result *analyse_report(const struct stack_source *source, const struct report_query *query,
			      struct err *err);

#endif
