/* SPDX-License-Identifier: MIT
 * What was allocated of each type: sums over all chunks, found in one pass.
 *
 *	struct type_list list = {0};
 *	if (type_list_make(&list, &types, &thresholds, err) < 0) ...
 *	use(list.rows.data);
 *	type_list_release(&list);
 */
#ifndef STUDY_ANALYSIS_TYPES_LIST_H
#define STUDY_ANALYSIS_TYPES_LIST_H

#include "study/analysis/memoro/scores.h"
#include "study/analysis/typing/types.h"

enum { TYPE_BINS = 64 }; /* of the line of live bytes */

struct type_sums {
	const char *name;  /* NULL = unknown */
	u64 chunks, bytes; /* chunks in units of the model */
	u64 elements;
	bool all_elements; /* known of every chunk */
	u64 peak_bytes, peak_chunks;
	u64 kept_bytes, kept_chunks;
	double life_ticks, freed;
	u32 origins; /* bits 1 << enum type_origin */
	u8 confidence;
	bool sampled;               /* of some chunks it is the class of others */
	struct behaviour behaviour; /* of the points that allocate this type only */
	u64 points;                 /* these */
	/* Live bytes by part of the run, less those of the part before. What ends in a part counts
	 * until its end, so that no peak is lost. */
	double *bins; /* TYPE_BINS + 1 */
};

struct type_list { /* all zero = empty */
	const struct model *model;
	VEC(struct type_sums) rows; /* in the order of their first chunks */
	u64 origin_bytes[TYPE_ORIGINS], origin_chunks[TYPE_ORIGINS];
	u64 guess_bytes, guess_chunks;
	u64 sampled_chunks;
	u64 bytes, chunks;
	struct names names; /* of templates */
	struct arena arena;
};

/* The cascade must outlive self, which has its names. Released also after a failure. */
int type_list_make(struct type_list *self, struct type_cascade *types,
		   const struct thresholds *thresholds, struct err *err);
void type_list_release(struct type_list *self);

/* The same with the types of one template as one row. */
int type_list_fold(struct type_list *self, const struct type_list *from, struct err *err);

/* The line of a row in so many parts (up to TYPE_BINS), 255 = its highest. */
void type_spark(const struct type_sums *row, u8 *spark, u32 bins);

#endif
