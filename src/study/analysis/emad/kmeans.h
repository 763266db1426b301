/* SPDX-License-Identifier: MIT
 * K-means over points of two features: k-means++ beginnings, Lloyd's steps, several restarts of
 * which the tightest wins; and how well the clusters are separated, by which k can be chosen.
 * Equal input and seed give equal clusters.
 *
 * Above KMEANS_CORESET points the restarts, and the choice of k, work on a weighted sample that
 * keeps far-off points (half of it drawn evenly, half by squared distance from the mean); then all
 * points take part in the last steps. So the time is linear in their number. */
#ifndef STUDY_ANALYSIS_EMAD_KMEANS_H
#define STUDY_ANALYSIS_EMAD_KMEANS_H

#include "host/base/err.h"
#include "format/types.h"

enum { KMEANS_MAX = 64, KMEANS_AUTO_MAX = 12, KMEANS_CORESET = 1 << 13 };

struct point2 {
	double x, y;
};

struct kmeans_query {
	const struct point2 *points;
	u64 count;
	u64 seed;
	u32 restarts;
};

struct kmeans {
	u32 k; /* fewer than asked for if there are fewer different points */
	struct point2 centre[KMEANS_MAX];
	u64 members[KMEANS_MAX];
	double inertia;    /* sum of squared distances to the own centre */
	double silhouette; /* how well they are separated, 0 to 1 */
};

/* cluster_of has room for a number per point. */
int kmeans_fit(const struct kmeans_query *query, u32 k, struct kmeans *self, u8 *cluster_of,
	       struct err *err);

/* The best k from 2 to KMEANS_AUTO_MAX (and below the number of points), the smallest of equals.
 * silhouettes[k] is what k = 2 … came to, of the sample if there is one; 0 if k was not tried. */
int kmeans_choose(const struct kmeans_query *query, u32 *k, double silhouettes[KMEANS_AUTO_MAX + 1],
		  struct err *err);

#endif
