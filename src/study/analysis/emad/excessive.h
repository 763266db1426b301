/* SPDX-License-Identifier: MIT
 * Excessive allocation: allocation objects that are frequent and short-lived, found by clusters or
 * by outliers of frequency / mean life. Defined in docs/METHODS.md, "Excessive allocation
 * (EMAD)". */
#ifndef STUDY_ANALYSIS_EMAD_EXCESSIVE_H
#define STUDY_ANALYSIS_EMAD_EXCESSIVE_H

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/emad/kmeans.h"
#include "study/analysis/emad/objects.h"
#include "host/base/strbuf.h"
#include "study/model/durations.h"
#include "study/result/chart.h"

enum {
	BY_KMEANS = 1,
	BY_IQR = 2,
	BY_BOTH = 3,
	BY_FLOOR = 4 /* of too few objects for either */
};
enum { EXCESSIVE_MIN_OBJECTS = 4 }; /* fewer have no quartiles */
enum { EXCESSIVE_LIFE_MIN_NS = 1 }; /* a life of 0 has no logarithm, and no ratio */

struct excessive_query {
	u32 methods; /* BY_* */
	/* the paper's plain rules; else lives are compared with their spread, and floor */
	bool paper;
	/* share of the run, and of all allocations, below which nothing is excessive */
	double floor;
	bool by_caller; /* sizes are taken together */
	bool raw; /* cluster frequency and life as they are, not their standardised logarithms */
	u32 k;    /* 0 = by silhouette */
	u64 seed;
	u32 restarts;
	bool has_mu; /* else mu is found */
	double mu;
	u64 top;     /* rows, 0 = all */
	u64 objects; /* rows of the data set, 0 = all */
	bool all_paths;
	const struct wrappers *wrappers;
	const struct callgraph *routines; /* of the trace's routine events; NULL = it has none */
	const struct trace_info *info;    /* of the file, may be NULL */
};

/* Why the robust rule does not count what a method found. */
enum excessive_reason {
	REASON_NONE,
	REASON_CHEAP, /* all that the method found is below the floor */
	REASON_RARE,  /* its number of allocations is */
	REASON_LASTS, /* a pool would hardly use its memory again */
};

/* An object of the data set: one that was freed. */
struct excessive_row {
	u32 object;
	double frequency, life_ms, ratio;
	double reuse; /* its time from first to last / life: how often a pool's slot were used */
	u8 cluster;   /* from 0: the most frequent; UINT8_MAX = not clustered */
	u8 found_by;
	u8 set_aside; /* methods that would have found it, but for the reason */
	u8 reason;    /* enum excessive_reason */
};

struct excessive_iqr {
	double q1, q3, iqr, mu, threshold, low, high; /* low and high: range of the ratio */
	const char *mu_from;
};

struct excessive {
	const struct excessive_query *query;
	struct object_table objects;
	struct call_costs costs;
	VEC(struct excessive_row) rows; /* by ratio, highest first */
	VEC(u32)
	/* rows that a method found: most frequent first, or by ratio if only that was asked */
	found;
	bool enough; /* EXCESSIVE_MIN_OBJECTS are there */
	struct kmeans clusters;
	double mean_frequency[KMEANS_MAX], mean_life_ms[KMEANS_MAX];
	double apart[KMEANS_MAX]; /* mean life less that of cluster 0, in pooled deviations */
	double silhouettes[KMEANS_AUTO_MAX + 1];
	u32 guilty; /* cluster, or UINT32_MAX */
	struct excessive_iqr iqr;
	u64 found_kmeans, found_iqr, found_both;
	VEC(u32) set_aside; /* rows, as found; those of found are not in it */
	struct excessive_query callers_query;
	/* the same with sizes taken together, where that may find more; else NULL */
	struct excessive *callers;
	/* rows of callers that are found there, have several sizes, and none of these in found */
	VEC(u32) varied;
};

/* source and query must outlive self. Released also after a failure. */
int excessive_find(struct excessive *self, const struct stack_source *source,
		   const struct excessive_query *query, struct err *err);

static inline bool excessive_is_found(const struct excessive *self)
{
	return self->found.count || self->varied.count;
}

/* Whether instrumentation (of routines, or of accesses) lengthened the run by an unknown part, so
 * that no share of its time is one of the program's. */
bool excessive_is_slowed(const struct excessive *self);

/* Estimated time in the allocator for one allocation of this object and its free; 0 = not known. */
double excessive_pair_ns(const struct excessive *self, const struct alloc_object *object);

/* What all excessive objects cost together. */
struct excessive_cost {
	double allocations, allocator_ns, pool_saves_ns, live;
};
struct excessive_cost excessive_cost(const struct excessive *self);

/* The verdict in words, as the result has it. */
void excessive_verdict(const struct excessive *self, struct strbuf *text);

/* A record named "excessive"; NULL and err on failure. */
struct result *excessive_result(const struct excessive *self, struct err *err);
/* The data set as a table of its own, named "objects". */
struct result *excessive_data(const struct excessive *self, struct err *err);

/* A table "paths": how each of the first objects found is reached. */
struct result *excessive_paths(const struct excessive *self);

/* Frequency by life, and the ratios; dots are allocated and the caller's. false without memory. */
struct excessive_charts {
	struct chart chart[2];
	struct chart_line lines[2];
	struct chart_dot *dots[2];
	struct arena arena;
};
bool excessive_charts_make(struct excessive_charts *charts, const struct excessive *self);
void excessive_charts_release(struct excessive_charts *charts);

void excessive_release(struct excessive *self);

#endif
