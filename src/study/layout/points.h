/* SPDX-License-Identifier: MIT
 * Allocation points as rows of a table, and one of them in detail. */
#ifndef STUDY_LAYOUT_POINTS_H
#define STUDY_LAYOUT_POINTS_H

#include "study/layout/scope.h"

/* The chunks of a scope, by point. Counts are plain numbers, estimated where the recording is
 * sampled. */
struct point_sums {
	double chunks, bytes;
	double kept_chunks, kept_bytes;
	double temporary;
	double life_ticks, freed; /* of chunks that were freed */
	double peak_bytes;        /* most that were live at once; NAN = not known (see below) */
	u32 threads;              /* that allocated them */
};

/* By point, as many as the model has; freed by the caller. NULL and err on failure. Those of recent
 * scopes are kept. */
struct point_sums *point_sums_make(const struct view_scope *scope, struct err *err);

/* The same, found anew; of the scope's trace nothing but the model is asked. */
struct point_sums *point_sums_compute(const struct view_scope *scope, struct err *err);

/* Whether the sums have their peaks, too. If not they can be had for one point, or for all; both
 * are exact. */
bool point_peaks_known(const struct view_scope *scope);
/* 1 = it has so many chunks that point_peaks is the way. */
int point_peak(const struct view_scope *scope, struct point_id point, double *peak,
	       struct err *err);
int point_peaks(const struct view_scope *scope, double *peaks, struct err *err);

/* The sums of all chunks in the index of a model, if this build would find the same; NULL = it has
 * none. */
const struct point_sums *point_sums_stored(const struct model *model);
/* struct study_options.store */
int point_sums_store(const struct model *model, struct index_writer *out, struct err *err);

/* The chunks of a point, in order of their numbers. */
struct point_chunks {
	const u32 *numbers;
	u64 count;
};
int view_point_chunks(struct study *trace, struct point_id point, struct point_chunks *chunks,
		      struct err *err);

enum point_column {
	POINT_ID,
	POINT_FN,
	POINT_TYPE,
	POINT_CHUNKS,
	POINT_BYTES,
	POINT_PEAK,
	POINT_LIVE,
	POINT_LEAKED,
	POINT_TEMPORARY,
	POINT_SEV,
	POINT_LIFETIME,
	POINT_USAGE,
	POINT_USEFUL,
	POINT_AVG_LIFE,
	POINT_THREADS,
	POINT_DELTA, /* bytes; these with a base only */
	POINT_DELTA_CHUNKS,
	POINT_DELTA_PEAK,
	POINT_DELTA_LEAKED,
	POINT_DELTA_TEMPORARY,
	POINT_COLUMNS
};

static inline bool point_column_is_delta(enum point_column column)
{
	return column >= POINT_DELTA && column <= POINT_DELTA_TEMPORARY;
}

bool point_column_parse(const char *word, size_t bytes, enum point_column *column);

enum { POINTS_SORTS = 4, POINTS_PAGE_MAX = 500, SPARK_MAX = 256 };

struct points_query_view {
	struct {
		enum point_column column;
		bool falling;
	} sorts[POINTS_SORTS];
	u32 sort_count;
	u64 offset, limit;
	u32 spark;          /* bins of the small diagram, 0 = none */
	const double *live; /* by point: bytes at a moment; NULL = what is kept */
	/* by point: what it was in another trace; NULL = there is none */
	const struct point_sums *base;
};

struct point_row {
	u32 point;
	struct point_sums sums;
	const char *function, *file, *module, *type; /* "" = unknown, type NULL = unknown */
	u32 line;
	u64 offset; /* in the module */
	u8 *spark;  /* live bytes at the end of each bin, 255 = the point's highest; NULL = none */
};

struct points_page {   /* all zero = empty */
	u64 total;     /* points that have a chunk in the scope */
	double chunks; /* of all of them */
	VEC(struct point_row) rows;
	struct arena arena;
};

int points_page_make(struct points_page *self, const struct view_scope *scope,
		     const struct points_query_view *query, struct err *err);
void points_page_release(struct points_page *self);

/* How often each power of two occurs: [0] is 0, [i] is 2^(i-1) to before 2^i. */
struct log_histogram {
	u64 count[65];
};

enum { FREE_SITES_MAX = 10, POINT_THREADS_MAX = 32 };

/* How many chunks a thread allocated or freed, or were freed from a stack. */
struct chunk_share {
	u32 number; /* of the thread, or of the innermost frame; the root = not known */
	u64 chunks;
};
struct chunk_shares { /* a VEC, all zero = empty */
	struct chunk_share *data;
	u64 count, capacity;
};

struct point_detail { /* all zero = empty */
	u32 point;
	struct point_sums sums;
	u64 chunks, freed;
	u64 min_size, median_size, max_size;
	struct log_histogram sizes, lives; /* lives in ns, of freed chunks */
	struct chunk_shares free_sites;    /* most first, all of them */
	struct chunk_shares allocs, frees; /* by thread, most first */
};

int point_detail_make(struct point_detail *self, const struct view_scope *scope,
		      struct point_id point, struct err *err);
void point_detail_release(struct point_detail *self);

#endif
