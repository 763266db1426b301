/* SPDX-License-Identifier: MIT
 * Small numerics that several analyses may share: quantiles, and random numbers that are the same
 * in every run. */
#ifndef STUDY_ANALYSIS_EMAD_STATISTICS_H
#define STUDY_ANALYSIS_EMAD_STATISTICS_H

#include "format/types.h"

/* Rising order; no NaN. */
void sort_rising(double *values, u64 count);

/* The value below which a share (0 to 1) of the sorted values lies; between two of them it is
 * interpolated, so that the quartiles of 1, 2, 3, 4 are 1.75 and 3.25. 0 if there are none. */
double quantile(const double *sorted, u64 count, double share);

/* SplitMix64: any state will do, and equal states give equal numbers. */
struct random_source {
	u64 state;
};

u64 random_next(struct random_source *self);
double random_share(struct random_source *self); /* in [0, 1) */

#endif
