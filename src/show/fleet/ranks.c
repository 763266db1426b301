/* SPDX-License-Identifier: MIT
 * Statistics by ranks.
 * Host. Knows no store. */
#include "show/fleet/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/emad/statistics.h"

enum { EXACT = 20 };

struct ranked {
	double value;
	bool is_b;
};

static int compare_values(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;

	return x < y ? -1 : x > y;
}

/* Sum of the ranks of b, equal values at their mean rank; *ties is the sum of t³ - t. */
static double rank_sum(const struct ranked *all, u64 count, double *ties)
{
	double sum = 0;

	*ties = 0;
	for (u64 first = 0, end; first < count; first = end) {
		u64 of_b = 0;
		double equal;

		for (end = first; end < count && all[end].value <= all[first].value; end++)
			of_b += all[end].is_b;
		equal = (double)(end - first);
		sum += (double)of_b * ((double)(first + 1) + (double)end) / 2;
		*ties += equal * equal * equal - equal;
	}
	return sum;
}

/* Share of all orders of n and m values whose U is at most u: the number of ways f(n, m, u) to
 * reach u is f(n - 1, m, u - m) + f(n, m - 1, u). */
static double exact_below(u64 n, u64 m, u64 u)
{
	static double ways[EXACT + 1][EXACT + 1][EXACT * EXACT + 1];
	double below = 0, all = 0;

	memset(ways, 0, sizeof ways);
	for (u64 i = 0; i <= n; i++)
		for (u64 j = 0; j <= m; j++)
			for (u64 k = 0; k <= i * j; k++) {
				if (i == 0 || j == 0)
					ways[i][j][k] = k == 0;
				else
					ways[i][j][k] = (k >= j ? ways[i - 1][j][k - j] : 0) +
							ways[i][j - 1][k];
			}
	for (u64 k = 0; k <= n * m; k++) {
		all += ways[n][m][k];
		below += k <= u ? ways[n][m][k] : 0;
	}
	return below / all;
}

static double p_of(u64 n, u64 m, double u, double ties)
{
	double pairs = (double)n * (double)m, both = (double)(n + m);
	double low = u < pairs - u ? u : pairs - u;
	double variance, z;

	if (ties == 0 && n <= EXACT && m <= EXACT) {
		double p = 2 * exact_below(n, m, (u64)(low + 0.5));

		return p < 1 ? p : 1;
	}
	variance = pairs / 12 * (both + 1 - ties / (both * (both - 1)));
	if (variance <= 0)
		return 1;
	z = (pairs / 2 - low - 0.5) / sqrt(variance);
	return z > 0 ? erfc(z / sqrt(2)) : 1;
}

struct rank_test rank_test(const double *a, u64 a_count, const double *b, u64 b_count)
{
	struct rank_test result = {.p = 1};
	u64 count = a_count + b_count;
	struct ranked *all = calloc(count + 1, sizeof *all);
	double ties, u, pairs = (double)a_count * (double)b_count;

	if (!all || !a_count || !b_count) {
		free(all);
		return result;
	}
	for (u64 i = 0; i < count; i++)
		all[i] = (struct ranked){i < a_count ? a[i] : b[i - a_count], i >= a_count};
	qsort(all, count, sizeof *all, compare_values);
	u = rank_sum(all, count, &ties) - (double)b_count * (double)(b_count + 1) / 2;
	result.p = p_of(a_count, b_count, u, ties);
	result.delta = 2 * u / pairs - 1;
	free(all);
	return result;
}

void false_discovery(double *rising_p, u64 count, u64 tests)
{
	double least = 1;

	for (u64 i = count; i-- > 0;) {
		double q = rising_p[i] * (double)tests / (double)(i + 1);

		least = q < least ? q : least;
		rising_p[i] = least;
	}
}

double median(double *values, u64 count)
{
	sort_rising(values, count);
	return quantile(values, count, 0.5);
}

bool robust_distances(const double *values, u64 count, double *centre, double *distances)
{
	double *scratch = calloc(count + 1, sizeof *scratch), spread, sum = 0;

	if (!scratch)
		return false;
	memcpy(scratch, values, count * sizeof *values);
	*centre = median(scratch, count);
	for (u64 i = 0; i < count; i++) {
		scratch[i] = fabs(values[i] - *centre);
		sum += scratch[i];
	}
	/* Of a normal distribution the one is 0.6745, the other 0.7979 standard deviations. */
	spread = median(scratch, count) / 0.674490;
	if (spread <= 0)
		spread = count ? sum / (double)count / 0.797885 : 0;
	for (u64 i = 0; i < count; i++)
		distances[i] = spread > 0 ? (values[i] - *centre) / spread : 0;
	free(scratch);
	return true;
}
