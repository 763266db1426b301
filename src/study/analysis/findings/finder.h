/* SPDX-License-Identifier: MIT
 * How findings are gathered, for the files of this room that do it. */
#ifndef STUDY_ANALYSIS_FINDINGS_FINDER_H
#define STUDY_ANALYSIS_FINDINGS_FINDER_H

#include "study/analysis/findings/cost.h"

struct finder {
	struct findings *findings;
	const struct stack_source *source;
	const struct model *model;
	const struct findings_query *query;
	const struct behaviour_table *behaviour;
	const struct inferences *inferences;
	struct map by_key;  /* hash of kind and place → row + 1 */
	struct map leaking; /* points with a leak */
	struct map rising;  /* points that grow: number of their course + 1 */
	struct map held;    /* points whose growth is told by the container */
	const struct growth_table *growth;
	bool led;      /* all lost chunks are of one place: what is indirectly lost is told there */
	u64 led_bytes; /* that is to be told yet */
	struct finding_costs costs;
};

/* What holds this part of the peak is told. */
static const double PEAK_SHARE = 0.5;

/* Adds a finding of one point, or to the one of the same kind at the same place. */
int finder_add(struct finder *self, struct finding one, struct err *err);
void finding_merge(struct finding *into, const struct finding *from);

/* What was inferred of a point; what was found of leaks, growth, misuse and resident memory; and
 * what holds the peak if no place does. */
int finder_add_inferred(struct finder *self, struct point_id point, struct err *err);
int finder_add_reported(struct finder *self, const struct leak_report *leaks, struct err *err);
int finder_add_peaks(struct finder *self, struct err *err);
/* Before all these, by the pointers that scans found: containers that grow between them, and what
 * was in memory twice. */
int finder_add_grown(struct finder *self, const struct model *pointers, struct err *err);
int finder_add_twice(struct finder *self, const struct model *pointers, struct err *err);

/* One thing that lives to the end is usual; many stacks may keep one each at the same place. */
static inline bool finding_is_single(const struct model *model, const struct finding *finding)
{
	return finding->kind == FINDING_KEPT && model_count(model, finding->chunks) < 2;
}

/* A sample has so few of its chunks that what was live at a moment is chance. */
static inline bool point_is_noise(const struct model *model, const struct model_point *point)
{
	enum { CHUNKS_ENOUGH = 64 };
	u64 interval = model->image.sample_bytes;

	return point->at_peak_bytes < CHUNKS_ENOUGH * interval &&
	       point->at_peak_bytes < model_count(model, point->at_peak_chunks) * interval;
}

static inline double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

#endif
