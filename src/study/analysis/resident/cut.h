/* SPDX-License-Identifier: MIT
 * The smallest cut: allocation points that, moved to a heap of their own, would let most pages go.
 * Defined in docs/METHODS.md. */
#ifndef STUDY_ANALYSIS_RESIDENT_CUT_H
#define STUDY_ANALYSIS_RESIDENT_CUT_H

#include "study/analysis/resident/bill.h"

enum { CUT_POINTS_MAX = 16 };

struct cut {
	struct point_id points[CUT_POINTS_MAX]; /* in the order in which they were chosen */
	u32 count;                              /* 0 = none is worth it */
	u64 blocks, live_bytes;                 /* that they have, headers and rounding included */
	u64 pages;                              /* that only they hold */
	/* What would be saved, less what the blocks take elsewhere. least: at once, which is what
	 * lies at the end of a heap of glibc's, others keep pages for later; most: with all free
	 * pages given back. */
	u64 least_bytes, most_bytes;
	u64 bound_bytes; /* no cut lets go of more of the pages with live blocks */
};

/* 0 or ERR_MEMORY. */
int cut_find(struct cut *self, const struct bill *bill, struct err *err);

#endif
