/* SPDX-License-Identifier: MIT
 * What a finding leads to: its allocation points, and the chunks that it is about as a query says
 * it. */
#ifndef STUDY_LAYOUT_VERDICTS_H
#define STUDY_LAYOUT_VERDICTS_H

#include "host/base/strbuf.h"
#include "study/open/study.h"

enum { VERDICT_POINTS_MAX = 100 };

struct verdict_points {
	struct point_id points[VERDICT_POINTS_MAX]; /* the one that costs most first */
	u32 count;
};

/* Points of a place that the finding does not hold for are not among them. */
int verdict_points_find(struct verdict_points *self, struct study *trace,
			const struct finding *finding, struct err *err);

/* A condition of a query (`all | where …`) for the chunks; nothing if no point is known. */
void verdict_condition(const struct finding *finding, const struct verdict_points *points,
		       const struct thresholds *limits, struct strbuf *out);

#endif
