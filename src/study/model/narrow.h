/* SPDX-License-Identifier: MIT
 * A part of a model that is a model itself: what it would be if the program had made the chosen
 * chunks only. Analyses need not know: chunks that were not chosen are absent, and all sums, peaks
 * and the timeline are those of the others. Numbers of chunks, points, threads and frames stay the
 * same.
 *
 *	struct narrow_query query = {.words = selection.words};
 *	struct model *part = model_narrow(model, &query, &err);
 *	...
 *	model_free(part);                       (before the whole)
 *
 * What the columns do not have is not known of a part: how its chunks were freed (free, delete,
 * realloc), calls that failed, frees of unknown blocks. Sums that a trace has instead of events
 * belong to no chunk: they are left out. Which bytes of a point's chunks were accessed is known if
 * all of them were chosen. */
#ifndef STUDY_MODEL_NARROW_H
#define STUDY_MODEL_NARROW_H

#include "study/model/model.h"

struct narrow_query {
	const u64 *words; /* bit chunk % 64 of word chunk / 64: chosen; NULL = all */
	/* Peaks are looked for in this part of the time; to_ticks 0 = in all of it. */
	u64 from_ticks, to_ticks;
};

/* NULL and err if there is no memory. The whole must be finished, and outlive its part. */
struct model *model_narrow(const struct model *whole, const struct narrow_query *query,
			   struct err *err);

/* For model_free: releases what is the part's own. */
void model_narrow_release(struct model *self);

/* Whether any chunk of this model was allocated there. */
static inline bool model_point_is_empty(const struct model *self, u64 point)
{
	return self->whole && !self->points.data[point].allocations;
}

/* Points that allocate. */
u64 model_point_count(const struct model *self);

#endif
