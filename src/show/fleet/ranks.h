/* SPDX-License-Identifier: MIT
 * Statistics of few runs, which are seldom distributed as textbooks wish: by ranks. Defined in
 * docs/METHODS.md, "Fleets". */
#ifndef SHOW_FLEET_RANKS_H
#define SHOW_FLEET_RANKS_H

#include "format/types.h"

struct rank_test {
	double p; /* two-sided: how often equal distributions differ as much */
	/* Cliff's: share of pairs in which b is larger, less that in which a is; -1 to 1 */
	double delta;
};

/* Mann-Whitney. Exact for up to 20 values on each side without ties, otherwise by the normal
 * distribution with the correction for ties. p is 1 if a side is empty, or there is no memory. */
struct rank_test rank_test(const double *a, u64 a_count, const double *b, u64 b_count);

/* Benjamini and Hochberg: turns the p of `count` tests, in rising order, into the share of wrong
 * ones among those up to each of them. tests: how many there were in all, others with p = 1. */
void false_discovery(double *rising_p, u64 count, u64 tests);

double median(double *values, u64 count); /* sorts them */

/* How far each value lies from the others, in standard deviations of a normal distribution of the
 * same median absolute deviation (or, if more than half of them are equal, mean absolute
 * deviation). 0 if all are equal. */
bool robust_distances(const double *values, u64 count, double *centre, double *distances);

#endif
