/* SPDX-License-Identifier: MIT
 * What can be said of an allocation point, with its evidence: never a bare flag. Defined in
 * docs/METHODS.md, "Inferences". */
#ifndef STUDY_ANALYSIS_MEMORO_INFERENCES_H
#define STUDY_ANALYSIS_MEMORO_INFERENCES_H

#include "study/analysis/memoro/behaviour.h"
#include "study/result/result.h"

enum inference_state {
	STATE_NO,
	STATE_HOLDS,
	STATE_UNKNOWN, /* what it needs was not measured */
};

/* How sure one may be. */
enum confidence {
	SURE_MEASURED,  /* counted */
	SURE_ESTIMATED, /* from a sample */
	SURE_INFERRED,  /* something unseen may speak against it */
};

const char *confidence_name(enum confidence confidence);
const char *inference_name(enum inference inference);
const char *inference_meaning(enum inference inference);
const char *inference_state_name(enum inference_state state);

struct inference_evidence {
	enum inference_state state;
	enum confidence confidence;
	u64 chunks, of_chunks; /* in units of the model */
	u64 bytes, of_bytes;
};

struct inferences { /* all zero = empty */
	const struct model *model;
	const struct behaviour_table *behaviour;
	struct thresholds limits;
	u64 top_bytes, top_allocs; /* the 90th percentiles: points above them are on top */
	u64 sum_peak_bytes, sum_allocations;
};

/* Finds what only all points together tell. model and behaviour must outlive self. */
int inferences_find(struct inferences *self, const struct model *model,
		    const struct behaviour_table *behaviour, const struct thresholds *limits,
		    struct err *err);

struct inference_evidence inference_of(const struct inferences *self, struct point_id point,
				       enum inference inference);

/* Whether it takes recorded accesses. */
bool inference_needs_access(enum inference inference);

#endif
