/* SPDX-License-Identifier: MIT
 * What a first look at a trace shows, kept in its index: sums, scores and findings of the default thresholds. Reading
 * them takes no time; finding them takes several passes over all chunks. */
#ifndef STUDY_LAYOUT_STORED_H
#define STUDY_LAYOUT_STORED_H

#include "study/layout/trace.h"

/* struct model_options.store; self is the path of the trace, a const char *. */
int view_store(void *self, const struct model *model, const struct trace_info *info,
	       struct index_writer *out, struct err *err);

/* Takes what the index of the model has and this build of Heapwise would find; the rest is found when asked for. Before
 * anybody else asks the trace. */
void view_stored_take(struct study *self);

#endif
