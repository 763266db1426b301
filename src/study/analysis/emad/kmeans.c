/* SPDX-License-Identifier: MIT
 * K-means in two dimensions.
 * Host. */
#include "study/analysis/emad/kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/arena.h"
#include "study/analysis/emad/statistics.h"

enum { STEPS_MAX = 100, LAST_STEPS_MAX = 25 };

/* Points with weights, and where each belongs. */
struct cloud {
	const struct point2 *points;
	const double *weights; /* NULL = all 1 */
	u64 count;
	u8 *cluster_of;
	double *distance; /* scratch: squared, to the nearest centre */
};

static double squared(struct point2 a, struct point2 b)
{
	double x = a.x - b.x, y = a.y - b.y;

	return x * x + y * y;
}

static double weight(const struct cloud *self, u64 i)
{
	return self->weights ? self->weights[i] : 1;
}

/* ---- where to begin ---- */

/* A point drawn by weight × squared distance, or the count if all distances are 0. */
static u64 draw_far(const struct cloud *self, struct random_source *random)
{
	double sum = 0, at;
	u64 last = self->count;

	for (u64 i = 0; i < self->count; i++)
		sum += weight(self, i) * self->distance[i];
	at = random_share(random) * sum;
	for (u64 i = 0; i < self->count && sum > 0; i++) {
		double share = weight(self, i) * self->distance[i];

		if (share > 0)
			last = i;
		if (share > 0 && at < share)
			break;
		at -= share;
	}
	return last;
}

static void add_centre(struct kmeans *clusters, struct cloud *cloud, struct point2 centre)
{
	clusters->centre[clusters->k++] = centre;
	for (u64 i = 0; i < cloud->count; i++) {
		double distance = squared(cloud->points[i], centre);

		if (clusters->k == 1 || distance < cloud->distance[i])
			cloud->distance[i] = distance;
	}
}

/* k-means++ */
static void begin(struct kmeans *clusters, struct cloud *cloud, u32 k, struct random_source *random)
{
	*clusters = (struct kmeans){0};
	if (cloud->count)
		add_centre(clusters, cloud, cloud->points[random_next(random) % cloud->count]);
	while (clusters->k && clusters->k < k) {
		u64 next = draw_far(cloud, random);

		if (next == cloud->count)
			break;
		add_centre(clusters, cloud, cloud->points[next]);
	}
}

/* ---- Lloyd's steps ---- */

static u32 nearest(const struct kmeans *clusters, struct point2 point, double *distance)
{
	double best = squared(point, clusters->centre[0]);
	u32 at = 0;

	for (u32 c = 1; c < clusters->k; c++) {
		double d = squared(point, clusters->centre[c]);

		if (d < best) {
			best = d;
			at = c;
		}
	}
	*distance = best;
	return at;
}

/* Puts each point where it belongs; whether any has moved. */
static bool assign(struct kmeans *clusters, struct cloud *cloud)
{
	bool moved = false;

	clusters->inertia = 0;
	for (u64 i = 0; i < cloud->count; i++) {
		double distance;
		u32 at = nearest(clusters, cloud->points[i], &distance);

		moved |= cloud->cluster_of[i] != at;
		cloud->cluster_of[i] = (u8)at;
		cloud->distance[i] = distance;
		clusters->inertia += weight(cloud, i) * distance;
	}
	return moved;
}

/* A cluster that lost all of its points begins anew at the point that fits worst. */
static void refill(struct kmeans *clusters, struct cloud *cloud, u32 empty)
{
	u64 worst = 0;

	for (u64 i = 1; i < cloud->count; i++)
		if (cloud->distance[i] > cloud->distance[worst])
			worst = i;
	clusters->centre[empty] = cloud->points[worst];
	cloud->distance[worst] = 0;
}

static void move_centres(struct kmeans *clusters, struct cloud *cloud)
{
	struct point2 sums[KMEANS_MAX] = {{0}};
	double weights[KMEANS_MAX] = {0};

	memset(clusters->members, 0, sizeof clusters->members);
	for (u64 i = 0; i < cloud->count; i++) {
		u32 c = cloud->cluster_of[i];
		double w = weight(cloud, i);

		sums[c].x += w * cloud->points[i].x;
		sums[c].y += w * cloud->points[i].y;
		weights[c] += w;
		clusters->members[c]++;
	}
	for (u32 c = 0; c < clusters->k; c++) {
		if (clusters->members[c])
			clusters->centre[c] =
				(struct point2){sums[c].x / weights[c], sums[c].y / weights[c]};
		else
			refill(clusters, cloud, c);
	}
}

static void settle(struct kmeans *clusters, struct cloud *cloud, u32 steps)
{
	memset(cloud->cluster_of, 0xff, cloud->count);
	for (u32 step = 0; assign(clusters, cloud) && step < steps; step++)
		move_centres(clusters, cloud);
	memset(clusters->members, 0, sizeof clusters->members);
	for (u64 i = 0; i < cloud->count; i++)
		clusters->members[cloud->cluster_of[i]]++;
}

/* ---- how good ---- */

static double point_silhouette(const struct kmeans *self, struct point2 point, u32 own)
{
	double a = sqrt(squared(point, self->centre[own])), b = INFINITY;

	for (u32 c = 0; c < self->k; c++)
		if (c != own)
			b = fmin(b, sqrt(squared(point, self->centre[c])));
	if (self->members[own] < 2 || !(fmax(a, b) > 0) || isinf(b))
		return 0;
	return (b - a) / fmax(a, b);
}

/* Mean over all points of (b - a) / max(a, b), a the distance to the own centre and b that to the
 * nearest other: 1 = far apart, 0 = in doubt. A point that is alone in its cluster counts 0, as in
 * the exact form; -1 cannot occur. Linear in the number of points, as the exact form is not. */
static double silhouette(const struct kmeans *self, const struct cloud *cloud)
{
	double sum = 0, weights = 0;

	for (u64 i = 0; i < cloud->count; i++) {
		sum += weight(cloud, i) *
		       point_silhouette(self, cloud->points[i], cloud->cluster_of[i]);
		weights += weight(cloud, i);
	}
	return weights > 0 ? sum / weights : 0;
}

/* ---- the sample ---- */

struct coreset {
	struct cloud cloud;
	struct point2 *points; /* not used if the cloud is all there is */
	double *weights;
	struct arena arena;
};

static double spread(const struct kmeans_query *query, struct point2 *mean)
{
	double sum = 0;

	*mean = (struct point2){0};
	for (u64 i = 0; i < query->count; i++) {
		mean->x += query->points[i].x / (double)query->count;
		mean->y += query->points[i].y / (double)query->count;
	}
	for (u64 i = 0; i < query->count; i++)
		sum += squared(query->points[i], *mean);
	return sum;
}

/* A point has the chance 1/2 (1/n + d²/Σd²) in each draw; the weight undoes it. Draws at even
 * distances along the sum of chances need one pass. */
static void draw_coreset(struct coreset *self, const struct kmeans_query *query)
{
	struct random_source random = {.state = query->seed ^ 0xc0ffee};
	struct point2 mean;
	double all = spread(query, &mean), n = (double)query->count, sum = 0;
	double step = 1.0 / KMEANS_CORESET, next = random_share(&random) * step;
	u64 count = 0;

	for (u64 i = 0; i < query->count && count < KMEANS_CORESET; i++) {
		double far = all > 0 ? squared(query->points[i], mean) / all : 1 / n;
		double chance = (1 / n + far) / 2;

		sum += chance;
		for (; next < sum && count < KMEANS_CORESET; next += step) {
			self->points[count] = query->points[i];
			self->weights[count++] = step / chance;
		}
	}
	self->cloud.points = self->points;
	self->cloud.weights = self->weights;
	self->cloud.count = count;
}

static int coreset_init(struct coreset *self, const struct kmeans_query *query, struct err *err)
{
	bool whole = query->count <= KMEANS_CORESET;
	u64 count = whole ? query->count : KMEANS_CORESET;
	struct arena *arena = &self->arena;

	*self = (struct coreset){.cloud = {.points = query->points, .count = query->count}};
	self->cloud.cluster_of = arena_new_array(arena, u8, count);
	self->cloud.distance = arena_new_array(arena, double, count);
	self->points = arena_new_array(arena, struct point2, whole ? 0 : count);
	self->weights = arena_new_array(arena, double, whole ? 0 : count);
	if (!self->cloud.cluster_of || !self->cloud.distance || !self->points || !self->weights)
		return err_memory_for(err, "clusters");
	if (!whole)
		draw_coreset(self, query);
	return 0;
}

/* The tightest of several beginnings. */
static void fit_coreset(struct coreset *self, const struct kmeans_query *query, u32 k,
			struct kmeans *best)
{
	struct random_source random = {.state = query->seed};
	u32 restarts = query->restarts ? query->restarts : 1;

	for (u32 i = 0; i < restarts; i++) {
		struct kmeans clusters;

		begin(&clusters, &self->cloud, k, &random);
		if (!clusters.k)
			break;
		settle(&clusters, &self->cloud, STEPS_MAX);
		if (i == 0 || clusters.inertia < best->inertia)
			*best = clusters;
	}
	/* The scratch is that of the last restart. */
	if (best->k)
		assign(best, &self->cloud);
}

/* ---- what callers see ---- */

int kmeans_fit(const struct kmeans_query *query, u32 k, struct kmeans *self, u8 *cluster_of,
	       struct err *err)
{
	struct cloud all = {.points = query->points,
			    .count = query->count,
			    .cluster_of = cluster_of};
	struct coreset coreset;
	int status = coreset_init(&coreset, query, err);

	*self = (struct kmeans){0};
	if (status == 0)
		fit_coreset(&coreset, query, k < KMEANS_MAX ? k : KMEANS_MAX, self);
	arena_release(&coreset.arena);
	if (status < 0 || !self->k)
		return status;
	all.distance = calloc(query->count + 1, sizeof(double));
	if (!all.distance)
		return err_memory_for(err, "clusters");
	settle(self, &all, LAST_STEPS_MAX);
	free(all.distance);
	self->silhouette = silhouette(self, &all);
	return 0;
}

int kmeans_choose(const struct kmeans_query *query, u32 *k, double silhouettes[KMEANS_AUTO_MAX + 1],
		  struct err *err)
{
	struct coreset coreset;
	int status = coreset_init(&coreset, query, err);
	double best = -1;

	memset(silhouettes, 0, (KMEANS_AUTO_MAX + 1) * sizeof *silhouettes);
	*k = query->count < 2 ? 1 : 2;
	for (u32 try = 2; status == 0 && try <= KMEANS_AUTO_MAX && try < query->count; try++) {
		struct kmeans clusters = {0};

		fit_coreset(&coreset, query, try, &clusters);
		if (clusters.k < try)
			break; /* there are not so many different points */
		silhouettes[try] = silhouette(&clusters, &coreset.cloud);
		if (silhouettes[try] > best + 1e-9) {
			best = silhouettes[try];
			*k = try;
		}
	}
	arena_release(&coreset.arena);
	return status;
}
