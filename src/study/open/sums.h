/* SPDX-License-Identifier: MIT
 * The sums at the end of a trace: what `run` has found while it followed, and who opens the trace
 * takes without reading its events. */
#ifndef STUDY_OPEN_SUMS_H
#define STUDY_OPEN_SUMS_H

#include "study/analysis/leaks/growth.h"
#include "study/analysis/memoro/behaviour.h"
#include "study/model/sums.h"

struct study_sums {
	struct model *model;
	struct behaviour_table behaviour; /* the first of its two steps, by the usual thresholds */
	struct growth_samples *growth;
};

/* Whether they stand for all that readers ask of them. */
bool study_sums_complete(const struct study_sums *self);

void study_sums_put(const struct study_sums *self, struct sums_out *out);

/* The sums of an image. 0; 1 if the trace has none that can be used; negative codes. */
int study_sums_take(struct study_sums *self, const char *path, int image,
		    const struct trace_info *info, struct err *err);
void study_sums_release(struct study_sums *self);

#endif
