/* SPDX-License-Identifier: MIT
 * Which of several scans is looked at. */
#ifndef STUDY_ANALYSIS_OWNERS_CHOOSE_H
#define STUDY_ANALYSIS_OWNERS_CHOOSE_H

#include "study/model/model.h"

struct owners_scans {
	const struct model *model; /* has the chunks */
	const struct stream_graph *graphs;
	u64 count;
};

/* The scan at which most bytes were live, the later of two: at the end of a tidy program nothing
 * is. NULL if there is none. */
const struct stream_graph *owners_largest(const struct owners_scans *scans);
/* The same of those that have contents. */
const struct stream_graph *owners_largest_known(const struct owners_scans *scans);
/* The one that is nearest to the ticks, NULL if there is none. */
const struct stream_graph *owners_nearest(const struct owners_scans *scans, u64 ticks);
/* For a mark: the first one after it, which can be its own, or else the nearest. */
const struct stream_graph *owners_after(const struct owners_scans *scans, u64 ticks);

/* What is compared to see what grows: the first scan, and of the later ones that with most live
 * bytes. False if there are not two. */
struct owners_span {
	const struct stream_graph *before, *after;
};
bool owners_span(const struct owners_scans *scans, struct owners_span *span);
/* The scan between the two that is nearest to the middle; NULL = there is none. */
const struct stream_graph *owners_between(const struct owners_scans *scans,
					  const struct owners_span *span);

/* Why the trace at this path has none, as an error: ERR_INPUT. */
int owners_missing(const struct model *model, const char *path, struct err *err);

#endif
