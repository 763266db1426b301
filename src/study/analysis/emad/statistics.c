/* SPDX-License-Identifier: MIT
 * Quantiles and reproducible random numbers.
 * Host. */
#include "study/analysis/emad/statistics.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void sort_rising(double *values, u64 count)
{
	if (count)
		qsort(values, count, sizeof *values, by_value);
}

double quantile(const double *sorted, u64 count, double share)
{
	double at, part;
	u64 below;

	if (!count)
		return 0;
	at = share * (double)(count - 1);
	below = (u64)at;
	part = at - (double)below;
	/* Without the test an infinite neighbour that does not count would make a NaN. */
	return part > 0 ? sorted[below] + part * (sorted[below + 1] - sorted[below])
			: sorted[below];
}

u64 random_next(struct random_source *self)
{
	u64 z = self->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

double random_share(struct random_source *self)
{
	return (double)(random_next(self) >> 11) * 0x1p-53;
}
