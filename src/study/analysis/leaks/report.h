/* SPDX-License-Identifier: MIT
 * Leaks, growth and misuse of one image together: what `heapwise leaks` shows, and what other
 * commands mention of it. */
#ifndef STUDY_ANALYSIS_LEAKS_REPORT_H
#define STUDY_ANALYSIS_LEAKS_REPORT_H

#include "study/analysis/leaks/growth.h"
#include "study/analysis/leaks/leaks.h"
#include "study/analysis/leaks/misuse.h"

struct leak_report { /* all zero = empty */
	struct leak_table leaks;
	struct growth_table growth;
	struct misuse_table misuse;
};

struct leak_report_query {
	struct leaks_query leaks;
	const struct trace_info *info;     /* may be NULL */
	const struct growth_query *growth; /* NULL = growth_defaults */
	struct suppressions *suppressions; /* may be NULL; those that hide something count it */
};

int leak_report_make(struct leak_report *self, const struct stack_source *source,
		     const struct leak_report_query *query, struct err *err);
/* With the built-in suppressions, for those who mention leaks only. */
int leak_report_make_brief(struct leak_report *self, const struct stack_source *source,
			   const struct trace_info *info, struct err *err);
void leak_report_release(struct leak_report *self);

/* All of it as one record named "leaks"; NULL and err on failure. */
struct result *leak_report_result(const struct leak_report *self, const struct stack_source *source,
				  const struct leak_report_query *query, struct err *err);

/* Adds fields leaks.* to a report, which text shows if there is anything to tell. */
void leak_report_mention(const struct leak_report *self, const struct model *model,
			 struct result *report);

#endif
