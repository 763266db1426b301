/* SPDX-License-Identifier: MIT
 * K-means, silhouettes and quartiles on cases that were computed by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/emad/kmeans.h"
#include "study/analysis/emad/statistics.h"
#include "lib/test.h"

#define CHECK_NEAR(a, b)                                                                           \
	do {                                                                                       \
		if (!CHECK(fabs((a) - (b)) < 1e-9))                                                \
			fprintf(stderr, "# %.12g, not %.12g\n", (double)(a), (double)(b));         \
	} while (0)

static struct kmeans fit(const struct point2 *points, u64 count, u32 k, u8 *cluster_of)
{
	struct kmeans_query query = {.points = points, .count = count, .seed = 1, .restarts = 10};
	struct err err = {0};
	struct kmeans clusters;

	if (kmeans_fit(&query, k, &clusters, cluster_of, &err) < 0)
		FAIL("%s", err.text);
	return clusters;
}

TEST(quartiles, "quartiles lie between values as in R's default")
{
	double four[] = {4, 1, 3, 2}, five[] = {10, 20, 30, 40, 50}, one[] = {7};

	sort_rising(four, 4);
	CHECK_NEAR(quantile(four, 4, 0.25), 1.75);
	CHECK_NEAR(quantile(four, 4, 0.75), 3.25);
	CHECK_NEAR(quantile(five, 5, 0.25), 20);
	CHECK_NEAR(quantile(five, 5, 0.5), 30);
	CHECK_NEAR(quantile(five, 5, 1), 50);
	CHECK_NEAR(quantile(one, 1, 0.75), 7);
	CHECK_NEAR(quantile(NULL, 0, 0.5), 0);
}

/* Two pairs, 2 apart each, 10 between: centres (1, 0) and (11, 0). */
static const struct point2 pairs[] = {{0, 0}, {2, 0}, {10, 0}, {12, 0}};

TEST(two_pairs, "two pairs are two clusters, whose inertia and silhouette are known")
{
	u8 cluster_of[4];
	struct kmeans clusters = fit(pairs, 4, 2, cluster_of);

	CHECK_EQ(clusters.k, 2);
	CHECK_EQ(cluster_of[0], cluster_of[1]);
	CHECK_EQ(cluster_of[2], cluster_of[3]);
	CHECK(cluster_of[0] != cluster_of[2]);
	CHECK_NEAR(clusters.inertia, 4);
	/* outer points: (11 - 1) / 11, inner ones: (9 - 1) / 9 */
	CHECK_NEAR(clusters.silhouette, (2 * 10.0 / 11 + 2 * 8.0 / 9) / 4);
}

TEST(alone, "a point that is alone in its cluster has silhouette 0")
{
	static const struct point2 points[] = {{0, 0}, {2, 0}, {11, 0}};
	u8 cluster_of[3];
	struct kmeans clusters = fit(points, 3, 2, cluster_of);

	/* centres 1 and 11: (11 - 1) / 11, (9 - 1) / 9, 0 */
	CHECK_NEAR(clusters.silhouette, (10.0 / 11 + 8.0 / 9) / 3);
}

TEST(equal_points, "there are no more clusters than different points")
{
	static const struct point2 points[] = {{1, 1}, {1, 1}, {5, 5}, {5, 5}, {5, 5}};
	u8 cluster_of[5];

	CHECK_EQ(fit(points, 5, 4, cluster_of).k, 2);
	CHECK_EQ(fit(points, 2, 2, cluster_of).k, 1);
	CHECK_NEAR(fit(points, 2, 2, cluster_of).silhouette, 0);
	CHECK_EQ(fit(points, 0, 2, cluster_of).k, 0);
}

/* Three far groups of n points each in small squares. */
static struct point2 *groups(u64 n)
{
	static const struct point2 middle[] = {{0, 0}, {100, 0}, {0, 100}};
	struct random_source random = {7};
	struct point2 *points = calloc(3 * n, sizeof *points);

	for (u64 i = 0; points && i < 3 * n; i++)
		points[i] = (struct point2){middle[i % 3].x + random_share(&random),
					    middle[i % 3].y + random_share(&random)};
	return points;
}

static void check_groups(u64 n)
{
	struct point2 *points = groups(n);
	u8 *cluster_of = malloc(3 * n);
	struct kmeans_query query = {.points = points, .count = 3 * n, .seed = 3, .restarts = 5};
	double silhouettes[KMEANS_AUTO_MAX + 1];
	struct kmeans clusters;
	u32 k = 0;

	CHECK_EQ(kmeans_choose(&query, &k, silhouettes, NULL), 0);
	CHECK_EQ(k, 3);
	CHECK(silhouettes[3] > 0.98 && silhouettes[2] < 0.9 && silhouettes[0] == 0);
	CHECK_EQ(kmeans_fit(&query, k, &clusters, cluster_of, NULL), 0);
	for (u32 c = 0; c < 3; c++)
		CHECK_EQ(clusters.members[c], n);
	for (u64 i = 3; i < 3 * n; i++)
		if (cluster_of[i] != cluster_of[i % 3])
			FAIL("point %u is in another cluster", (unsigned)i);
	free(points);
	free(cluster_of);
}

TEST(choose, "three groups are found to be three") { check_groups(20); }
TEST(choose_sampled, "also among more points than the sample holds") { check_groups(100000); }

TEST(far_few, "a few far points survive the sample")
{
	struct point2 *points = groups(40000);
	u8 *cluster_of = malloc(120000);

	for (u32 i = 0; i < 3; i++)
		points[1000 + i] = (struct point2){1e5, 1e5};
	fit(points, 120000, 4, cluster_of);
	CHECK_EQ(cluster_of[1000], cluster_of[1001]);
	CHECK(cluster_of[1000] != cluster_of[0]);
	free(points);
	free(cluster_of);
}

TEST(repeatable, "equal seeds give equal clusters")
{
	struct point2 *points = groups(5000);
	u8 *one = malloc(15000), *two = malloc(15000);

	fit(points, 15000, 7, one);
	fit(points, 15000, 7, two);
	CHECK(memcmp(one, two, 15000) == 0);
	free(points);
	free(one);
	free(two);
}
