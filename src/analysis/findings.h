/* SPDX-License-Identifier: MIT
 * Leaks, growth and misuse of one image together: what `heapwise leaks` shows, and what other
 * commands mention of it. */
#ifndef ANALYSIS_FINDINGS_H
#define ANALYSIS_FINDINGS_H

#include "analysis/growth.h"
#include "analysis/leaks.h"
#include "analysis/misuse.h"

struct findings { /* all zero = empty */
	struct leak_table leaks;
	struct growth_table growth;
	struct misuse_table misuse;
};

int findings_make(struct findings *self, const struct stack_source *source,
		  const struct trace_info *info, const struct growth_query *growth,
		  struct suppressions *suppressions, struct err *err);
void findings_release(struct findings *self);

struct findings_query {
	struct leaks_query leaks;
	const struct trace_info *info;
};

/* All of it as one record named "leaks"; NULL and err on failure. */
struct result *findings_result(const struct findings *self, const struct stack_source *source,
			       const struct suppressions *suppressions,
			       const struct findings_query *query, struct err *err);

/* Adds fields leaks.* to a report, which text shows if there is anything to tell. */
void findings_mention(const struct findings *self, const struct model *model,
		      struct result *report);

#endif
