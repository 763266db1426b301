/* SPDX-License-Identifier: MIT
 * What findings cost, and which of them a developer would want to know first. Defined in
 * docs/METHODS.md, "Findings". */
#ifndef STUDY_ANALYSIS_FINDINGS_COST_H
#define STUDY_ANALYSIS_FINDINGS_COST_H

#include "study/analysis/findings/findings.h"
#include "study/model/durations.h"

enum { FINDING_CALL_NS = 25 };

/* Of the whole run. */
struct finding_costs {
	const struct model *model;
	double wholes[SAVING_UNITS];
	double run_ticks;
	double call_ns[HW_KIND_COUNT], free_ns; /* of one call of the allocator */
	bool untimed; /* too few were timed: each counts as FINDING_CALL_NS */
};

/* byte_ticks: of all chunks. */
struct finding_costs finding_costs(const struct model *model, double byte_ticks);

/* Calls of the allocator at a point that could be spared, in units, with their frees; and bytes
 * that would not be copied. */
double finding_cpu_ns(const struct finding_costs *self, struct point_id point, u64 units,
		      double copied_bytes);

/* Bytes of a point at the program's peak, a part of them. */
double finding_peak_bytes(const struct finding_costs *self, struct point_id point, double part);

/* Chooses the saving that is the largest share, and the level by it. */
void finding_settle(const struct finding_costs *self, struct finding *finding);

/* Memory that stayed resident far above what was live, at the place of those who hold it, or else
 * of who had most of it: so many findings, or a negative code; RESIDENT_WANTS_CHUNKS = there may be
 * some, but the model has forgotten what would tell. */
enum { RESIDENT_FINDINGS = 2, RESIDENT_WANTS_CHUNKS };
int finding_resident(struct finding found[RESIDENT_FINDINGS], const struct stack_source *source,
		     struct err *err);

bool finding_is_listed(const struct finding *finding, const struct findings_query *query);

/* For qsort: of two findings that are settled the one that comes first. */
int finding_order(const void *a, const void *b);

#endif
