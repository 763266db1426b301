/* SPDX-License-Identifier: MIT
 * What is in memory more than once, holds nothing, or was never touched, by allocation point and
 * type. Defined in docs/METHODS.md, "What is twice". */
#ifndef STUDY_ANALYSIS_OWNERS_TWICE_H
#define STUDY_ANALYSIS_OWNERS_TWICE_H

#include "study/analysis/owners/held.h"
#include "study/result/result.h"

struct twice_sums {
	/* Chunks with the same bytes as others, and how many different ones these are; one of each
	 * would be enough. */
	u64 alike_chunks, alike_bytes, different;
	u64 saving_bytes;  /* of those that are not the first of their like, the copies */
	u64 peak_bytes;    /* of the copies that were live at the program's peak */
	double byte_ticks; /* of the copies: bytes × lives */
	u64 zero_chunks, zero_bytes;
	u64 untouched_bytes;
	u64 empty_chunks; /* of no bytes */
};

struct twice_row {
	u32 point, kind; /* of the model, and of the owners: 0 without these */
	struct twice_sums sums;
};

struct owner_twice {                /* all zero = empty */
	VEC(struct twice_row) rows; /* the largest saving first */
	struct twice_sums all;
};

struct twice_query {
	const struct model *model;
	const struct stream_graph *graph; /* without contents nothing is found */
	const u32 *kind_of;               /* by node; NULL = rows are points */
};

/* 0 or ERR_MEMORY. */
int owner_twice_find(struct owner_twice *self, const struct twice_query *query, struct err *err);
void owner_twice_release(struct owner_twice *self);

/* Adds what was found to the result of the owners, if contents were looked at; so many rows, 0 =
 * all. */
int owner_twice_add(struct result *to, const struct owners *owners, u64 top, struct err *err);

#endif
