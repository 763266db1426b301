/* SPDX-License-Identifier: MIT
 * The three scores of the Memoro paper by allocation point, and of the program as a whole. Defined
 * in docs/METHODS.md, "Scores". */
#ifndef STUDY_ANALYSIS_MEMORO_SCORES_H
#define STUDY_ANALYSIS_MEMORO_SCORES_H

#include "study/analysis/memoro/behaviour.h"
#include "study/analysis/places/stacks.h"

enum score { SCORE_LIFETIME, SCORE_USAGE, SCORE_USEFUL, SCORES };

enum { SEVERITY_STEPS = 12 };

struct score_set {
	double value[SCORES]; /* 0, worst, to 1 */
	bool known[SCORES];
};

struct score_set scores_of(const struct behaviour *point);

/* 1, best, to SEVERITY_STEPS, by the geometric mean of the known scores; 0 if none is known. */
u32 severity_step(const struct score_set *scores);

/* One score over all points that have it. */
struct score_summary {
	u64 points; /* 0 = the rest means nothing */
	double mean, variance;
	double mean_by_allocations, mean_by_bytes;
	bool has_by_bytes; /* false: no bytes were allocated */
};

struct score_summary score_summarise(const struct behaviour_table *table, enum score score);

enum scores_by {
	SCORES_BY_SEVERITY,
	SCORES_BY_BYTES,
	SCORES_BY_COUNT,
	SCORES_BY_LIFETIME,
	SCORES_BY_USAGE,
	SCORES_BY_USEFUL
};

/* "severity", "bytes", "count", "lifetime", "usage", "useful" */
bool scores_by_parse(const char *word, enum scores_by *by);

struct scores_query {
	enum scores_by by;   /* worst or largest first; points of which it is unknown come last */
	u64 top;             /* points to list, 0 = all */
	bool all_inferences; /* list also those that do not hold, or are unknown */
	struct thresholds thresholds;
	const struct trace_info *info; /* of the file, may be NULL */
};

/* A record named "scores" with parts "points" and "inferences"; NULL and err on failure. */
struct result *analyse_scores(const struct stack_source *source, const struct scores_query *query,
			      struct err *err);

#endif
