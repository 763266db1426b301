/* SPDX-License-Identifier: MIT
 * Temporary chunks: freed before their thread allocated more than `slack` others.
 * Defined in docs/METHODS.md, "Totals". */
#ifndef STUDY_ANALYSIS_SUMMARY_TEMPORARY_H
#define STUDY_ANALYSIS_SUMMARY_TEMPORARY_H

#include "study/analysis/places/group.h"

struct temporary_table { /* all zero = empty; counts in units of the model */
	u64 slack;
	u64 chunks, bytes;
	struct group_table points; /* empty with slack 0: the model's points have the numbers */
};

int temporary_count(const struct model *model, u64 slack, struct temporary_table *self,
		    struct err *err);
void temporary_of_point(const struct temporary_table *self, const struct model *model,
			struct point_id point, u64 *chunks, u64 *bytes);
void temporary_table_release(struct temporary_table *self);

#endif
