/* SPDX-License-Identifier: MIT
 * From where on something is worth a word: every limit of scores, inferences and findings. Options
 * of the commands fill it; docs/METHODS.md, "Inferences", has the table of the defaults. */
#ifndef STUDY_ANALYSIS_MEMORO_THRESHOLDS_H
#define STUDY_ANALYSIS_MEMORO_THRESHOLDS_H

#include "format/types.h"

struct thresholds { /* shares are 0 to 1 */
	/* lifetime groups split where allocations are further apart: of the run */
	double group_gap;
	double useless_bytes;  /* unused, write_only, read_only: of the measured bytes */
	u64 short_us;          /* short: longest life */
	double short_chunks;   /* of the chunks */
	u64 short_min;         /* chunks that a point must have */
	double idle;           /* early, late: of the life */
	double idle_bytes;     /* of the accessed chunks' bytes */
	u64 growing_steps;     /* growing: times in a row that a size rose */
	double coverage;       /* coverage: accessed part below which a chunk counts */
	double coverage_bytes; /* of the accessed chunks' bytes */
	u64 temporary_slack;   /* temporary: allocations that may come between */
	double temporary_chunks;
	u64 temporary_min;
	double top;       /* top_bytes, top_allocs: of the points */
	double top_floor; /* of the sum over all points; 0 = no floor */
	u64 zero_min;     /* zero_size: chunks of no bytes */
	u64 ratio;        /* read_write: reads per write, or writes per read */
	double threads;   /* shared, foreign_free: of the chunks */
	double kept;      /* kept: of all kept bytes; more than this */
};

#define THRESHOLDS_DEFAULT                                                                         \
	{                                                                                          \
		.group_gap = 0.001, .useless_bytes = 0.1, .short_us = 1000, .short_chunks = 0.5,   \
		.short_min = 100, .idle = 0.5, .idle_bytes = 0.5, .growing_steps = 4,              \
		.coverage = 0.5, .coverage_bytes = 0.5, .temporary_chunks = 0.5,                   \
		.temporary_min = 100, .top = 0.1, .zero_min = 1, .ratio = 10, .threads = 0.1,      \
		.kept = 0.005                                                                      \
	}

#endif
