/* SPDX-License-Identifier: MIT
 * Allocation points whose live bytes keep rising until the end of the run, also if they are freed
 * at exit. Defined in docs/METHODS.md, "Growth". */
#ifndef STUDY_ANALYSIS_LEAKS_GROWTH_H
#define STUDY_ANALYSIS_LEAKS_GROWTH_H

#include "host/trace/sums.h"
#include "study/analysis/places/stacks.h"

enum { GROWTH_STEPS_MIN = 16, GROWTH_STEPS_MAX = 1024 };

struct growth_query {
	/* samples of the whole run, at equal distances: at least so many, and fewer than twice as
	 * many; the second half is judged */
	u64 steps;
	u64 min_bytes; /* by which a point must grow in the second half */
	double trend;  /* Kendall's tau that it must reach, 0 to 1 */
	u64 min_ns;    /* shorter runs have no rows */
};

/* 64 steps, 64 KiB, 0.75, 1 s */
struct growth_query growth_defaults(void);

struct growth_row {
	struct point_id point;
	double trend;        /* Kendall's tau of the second half */
	double growth_bytes; /* in the second half, by the fitted line */
	double bytes_per_s;
	double bytes_per_1000;    /* per 1,000 allocations of the whole program */
	u64 from_bytes, to_bytes; /* live at the first and at the last sample that are judged */
};

/* How the live bytes of a point went, in steps of the whole run. */
struct growth_course {
	struct point_id point;
	/* part of the run for which it had half of what it had at the program's peak, or more */
	double held;
	u64 end_bytes; /* live at the last step */
	bool grows;
	struct growth_row growth; /* if it grows, however short the run is */
};

struct growth_table { /* all zero = empty */
	/* of the largest points; none if times of frees are not known */
	VEC(struct growth_course) courses;
	VEC(struct growth_row) rows; /* fastest first */
	const char *not_judged;      /* why the run could not be judged; NULL = it was */
	u64 candidates;              /* points that were looked at */
};

/* Samples that are taken while a stream fills the model, by the usual query: before an event that
 * is later than growth_samples_next, and at its end. NULL and false without memory. */
struct growth_samples;
struct growth_samples *growth_samples_new(const struct model *model);
void growth_samples_free(struct growth_samples *self);
u64 growth_samples_next(const struct growth_samples *self);
/* All before these ticks. */
bool growth_samples_take(struct growth_samples *self, u64 ticks);
/* The last one was taken. From then on it is only read. */
void growth_samples_finish(struct growth_samples *self);

/* As tables at the end of a trace, of finished samples; three numbers from id on. Take returns NULL
 * if they are of no use, or without memory. */
enum { GROWTH_TABLES = 3 };
void growth_samples_put(const struct growth_samples *self, u32 id, struct sums_out *out);
struct growth_samples *growth_samples_take_sums(const struct model *model, const struct sums_in *in,
						u32 id);

/* told: what was sampled so; NULL = the chunks tell it. */
int growth_find(const struct model *model, const struct growth_query *query,
		const struct growth_samples *told, struct growth_table *self, struct err *err);
void growth_table_release(struct growth_table *self);

/* A table named "growth"; NULL and err on failure. top 0 = all rows. */
struct result *growth_result(const struct stack_source *source, const struct growth_table *table,
			     u64 top, struct err *err);

#endif
