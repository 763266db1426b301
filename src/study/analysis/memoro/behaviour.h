/* SPDX-License-Identifier: MIT
 * What the chunks of each allocation point did, added up in one pass over the columns: the numbers
 * behind scores, inferences and findings. Defined in docs/METHODS.md, "Scores" and "Inferences".
 *
 *	struct behaviour_table table = {0};
 *	if (behaviour_find(source, &thresholds, &table, err) < 0) ...
 *	use(&table.points[point.index]);
 *	behaviour_table_release(&table);
 */
#ifndef STUDY_ANALYSIS_MEMORO_BEHAVIOUR_H
#define STUDY_ANALYSIS_MEMORO_BEHAVIOUR_H

#include "host/trace/sums.h"
#include "study/analysis/places/stacks.h"
#include "study/analysis/memoro/thresholds.h"

/* What may be said of a point. The first ones are true of single chunks, the others of the
 * point. */
enum inference {
	INFERENCE_UNUSED,
	INFERENCE_WRITE_ONLY,
	INFERENCE_READ_ONLY,
	INFERENCE_SHORT,
	INFERENCE_EARLY, /* allocated early: long before its first access */
	INFERENCE_LATE,  /* freed late: long after its last access */
	INFERENCE_GROWING,
	INFERENCE_COVERAGE,
	INFERENCE_TEMPORARY,
	INFERENCE_ZERO_SIZE,
	INFERENCE_SHARED,
	INFERENCE_FOREIGN_FREE,
	INFERENCE_KEPT,
	CHUNK_INFERENCES,
	INFERENCE_TOP_BYTES = CHUNK_INFERENCES,
	INFERENCE_TOP_ALLOCS,
	INFERENCE_READ_WRITE,
	INFERENCES
};

struct tally {
	u64 chunks; /* in units of the model */
	u64 bytes;
	/* Bytes × ticks: of `all` the whole, of an inference what could be spared. */
	double byte_ticks;
};

/* The longest run of chunks of which each was larger than the one before, which it replaced. */
struct growth_run {
	u32 steps;
	u64 from_bytes, to_bytes;
	bool realloc; /* every step was a realloc */
};

struct behaviour {
	struct tally all;      /* chunks of which the allocation is in the trace */
	struct tally measured; /* those of which accesses are known */
	bool unseen;           /* recorded, but made by code that was not: no chunk is measured */
	struct tally accessed; /* those of them that were accessed */
	struct tally hits[CHUNK_INFERENCES];
	u32 estimated, lower_bound;        /* bits 1 << inference: a hit rests on such accesses */
	bool is_estimated, is_lower_bound; /* any measured chunk */
	u64 reads, writes;

	double group_scores; /* sum over the groups of mean life / span */
	u64 groups;
	double used_bytes; /* of chunks that were both read and written */
	/* measured, of chunks of which it is not known whether they were both */
	double unsided_bytes;
	double useful_sum, useful_chunks; /* active part of lives, chunks */
	double short_ticks;               /* sum of lives of short chunks */
	double early_ticks, late_ticks;   /* sum of idle times of the hits */
	double covered_bytes;             /* accessed bytes of the hits of coverage */
	u64 growth_runs;                  /* of enough steps */
	u64 replaced_bytes;               /* of the chunks in them that a larger one replaced */
	struct growth_run growth;
	u64 freed_chunks; /* by a free that was seen */
	u64 min_size, max_size;
};

struct behaviour_table {          /* all zero = empty */
	struct behaviour *points; /* by point */
	u64 count;
	/* Libraries without instrumentation were loaded: a chunk may have been given to them. */
	bool plain_libraries;
	struct behaviour whole;   /* sums of all points; scores, runs and sizes are not added up */
	struct thresholds limits; /* by which it was found */
	bool borrowed;            /* points are somebody else's */
};

/* Names are asked for only where code without instrumentation was loaded. If source->behaviour is
 * by the same thresholds, self is that one, borrowed: it must not outlive it. */
int behaviour_find(const struct stack_source *source, const struct thresholds *thresholds,
		   struct behaviour_table *self, struct err *err);

/* The same while a stream fills the model: told of each chunk when it is born and when it has
 * ended, as struct model_follower is; then the first of the two steps below is done. NULL and
 * negative codes without memory. */
struct pass;
struct pass *behaviour_follow(const struct model *model, const struct thresholds *thresholds,
			      struct behaviour_table *self, struct err *err);
int behaviour_born(void *pass, const struct chunk_page *page, u32 k, u64 number, struct err *err);
int behaviour_ended(void *pass, const struct chunk_page *page, u32 k, u64 number, struct err *err);
void behaviour_followed(struct pass *pass);
/* Instead: the model may be gone. NULL is none. */
void behaviour_forget(struct pass *pass);

/* The same in two steps, of which the first, which takes the time, needs no names. */
int behaviour_begin(const struct model *model, const struct thresholds *thresholds,
		    struct behaviour_table *self, struct err *err);
void behaviour_finish(const struct stack_source *source, struct behaviour_table *self);
void behaviour_table_release(struct behaviour_table *self);

/* As a table at the end of a trace, of a recording without accesses: the first of the two steps, by
 * the usual thresholds. Take returns 0, 1 if the table is of no use, or ERR_MEMORY. */
void behaviour_sums_put(const struct behaviour_table *self, u32 id, struct sums_out *out);
int behaviour_sums_take(struct behaviour_table *self, const struct sums_in *in, u32 id, u64 points);

/* Chunks of a point that were allocated close together in time, and their part of the lifetime
 * score. */
struct lifetime_group {
	u64 first_ticks, end_ticks;
	double chunks, score; /* mean life / span */
};

enum { WORST_GROUPS = 5 };

struct worst_groups {
	struct lifetime_group rows[WORST_GROUPS]; /* lowest score first; of equal ones the larger */
	u32 count;
	u64 groups; /* in all */
};

/* The groups of the chunks of a point, told by their numbers in rising order. */
void behaviour_worst_groups(const struct model *model, const struct thresholds *thresholds,
			    const u32 *chunks, u64 count, struct worst_groups *worst);

/* Adds what scores are made of. */
void behaviour_add_scores(struct behaviour *to, const struct behaviour *from);

#endif
