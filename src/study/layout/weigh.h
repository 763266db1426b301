/* SPDX-License-Identifier: MIT
 * Sums of a scope by allocation point. */
#ifndef STUDY_LAYOUT_WEIGH_H
#define STUDY_LAYOUT_WEIGH_H

#include "study/layout/scope.h"

/* What can be asked of an allocation point. */
enum view_metric {
	METRIC_ALLOCS,
	METRIC_BYTES,
	METRIC_PEAK,        /* bytes live at the peak of what is selected */
	METRIC_LIVE,        /* bytes live at a moment */
	METRIC_KEPT,        /* bytes that were never freed; in a window: are live at its end */
	METRIC_LOST,        /* of these, those that the leak scan calls lost, indirectly or not */
	METRIC_TEMPORARY,   /* chunks */
	METRIC_ALLOC_TIME,  /* ns inside the allocator, estimated */
	METRIC_CHUNKS_LIVE, /* chunks live at a moment */
	/* bytes times seconds before the first and after the last access of each chunk */
	METRIC_IDLE,
	/* bytes on resident pages when most was resident (in the window), of all looks at that */
	METRIC_RESIDENT,
	METRICS
};

bool view_metric_parse(const char *word, enum view_metric *metric);
const char *view_metric_name(enum view_metric metric);
const char *view_metric_unit(enum view_metric metric); /* "bytes", "count", "ns" */

/* Why the trace does not have it, and what to do, as a sentence; NULL = it has. */
const char *view_metric_missing(const struct model *model, enum view_metric metric);

/* The metric of each point into values[], which has room for all of them. at_ns matters to LIVE and
 * CHUNKS_LIVE only, and is set to their moment by PEAK and RESIDENT. ERR_USAGE if it is missing, or
 * nobody looked at resident memory in the window. Chunks whose accesses were not measured are not
 * idle. */
int view_weigh(const struct view_scope *self, enum view_metric metric, u64 *at_ns, double *values,
	       struct err *err);

#endif
