/* SPDX-License-Identifier: MIT
 * The two methods of the EMAD paper over allocation objects.
 * Host. Reads the model, never changes it. */
#include "study/analysis/emad/excessive.h"

#include <math.h>
#include <string.h>

#include "host/base/order.h"
#include "study/analysis/emad/statistics.h"
#include "study/model/durations.h"

static const double LIFE_FLOOR_MS = EXCESSIVE_LIFE_MIN_NS / 1e6;
static const double EQUAL_LIVES = 1;      /* pooled deviations that means must differ by */
static const double FAR_APART = 999;      /* of clusters that do not spread at all */
static const double EXTREME_MU = 3;       /* Tukey's outer fence */
static const double MIN_REUSE = 10;       /* less and a pool would not help */
static const double UNSAMPLED_MIN = 1000; /* allocations that matter if their cost is not known */

/* ---- the data set ---- */

static int by_ratio(const void *a, const void *b)
{
	const struct excessive_row *x = a, *y = b;

	return falling_real(x->ratio, y->ratio) ?: rising(x->object, y->object);
}

static int collect(struct excessive *self)
{
	for (u32 i = 0; i < self->objects.rows.count; i++) {
		const struct alloc_object *object = &self->objects.rows.data[i];
		struct excessive_row row = {.object = i, .cluster = UINT8_MAX};

		if (!object_is_freed(object))
			continue;
		row.frequency = object_frequency(&self->objects, object);
		row.life_ms = fmax(object_life_ns(&self->objects, object) / 1e6, LIFE_FLOOR_MS);
		row.ratio = row.frequency / row.life_ms;
		row.reuse = object_span_ns(&self->objects, object) / 1e6 / row.life_ms;
		if (!vec_push(&self->rows, row))
			return ERR_MEMORY;
	}
	vec_sort(&self->rows, by_ratio);
	self->enough = self->rows.count >= EXCESSIVE_MIN_OBJECTS;
	return 0;
}

/* ---- what matters ---- */

struct weight {
	double allocations, allocator_ns;
};

static void weigh(const struct excessive *self, const struct excessive_row *row,
		  struct weight *weight)
{
	weight->allocations += row->frequency;
	weight->allocator_ns +=
		row->frequency * excessive_pair_ns(self, &self->objects.rows.data[row->object]);
}

static double share_of_all(const struct excessive *self, double allocations)
{
	const struct model *model = self->objects.source->model;
	u64 all = model_count(model, model->totals.allocations);

	return all ? allocations / (double)all : 0;
}

bool excessive_is_slowed(const struct excessive *self)
{
	const struct stream_image *image = &self->objects.source->model->image;
	const struct trace_info *info = self->query->info;

	return (info && info->routines) || image->flags & HW_RUN_ROUTINE_STACKS ||
	       image->access != ACCESS_NONE;
}

/* It is an anti-pattern of performance: what costs nothing is none. Where durations were not
 * sampled, or are a part of a run that instrumentation made longer, the number has to do. */
static bool matters(const struct excessive *self, const struct weight *weight)
{
	bool is_cpu;
	double run_ns = model_cpu_ns(self->objects.source->model, &is_cpu);

	if (self->query->paper || self->query->floor <= 0)
		return true;
	if (weight->allocator_ns > 0 && run_ns > 0 && !excessive_is_slowed(self))
		return weight->allocator_ns / run_ns >= self->query->floor;
	return weight->allocations >= UNSAMPLED_MIN &&
	       share_of_all(self, weight->allocations) >= self->query->floor;
}

/* A ratio may be high for a short life alone (section 4.6 of the paper), or for the frequency
 * alone; and a cluster that is frequent in the mean has members that are not. */
static enum excessive_reason reason_against(const struct excessive *self,
					    const struct excessive_row *row)
{
	if (self->query->paper)
		return REASON_NONE;
	if (row->reuse < MIN_REUSE)
		return REASON_LASTS;
	if (share_of_all(self, row->frequency) < self->query->floor)
		return REASON_RARE;
	return REASON_NONE;
}

static void settle(const struct excessive *self, struct excessive_row *row, u8 method, bool matter)
{
	enum excessive_reason reason = reason_against(self, row);

	if (!reason && !matter)
		reason = REASON_CHEAP;
	*(reason ? &row->set_aside : &row->found_by) |= method;
	row->reason = row->found_by ? REASON_NONE : reason;
}

/* ---- clusters ---- */

/* Mean 0 and deviation 1, or 0 if all are equal. */
static void standardise(struct point2 *points, u64 count)
{
	struct point2 mean = {0}, deviation = {0};

	for (u64 i = 0; i < count; i++) {
		mean.x += points[i].x / (double)count;
		mean.y += points[i].y / (double)count;
	}
	for (u64 i = 0; i < count; i++) {
		deviation.x += (points[i].x - mean.x) * (points[i].x - mean.x) / (double)count;
		deviation.y += (points[i].y - mean.y) * (points[i].y - mean.y) / (double)count;
	}
	for (u64 i = 0; i < count; i++) {
		points[i].x = deviation.x > 1e-12 ? (points[i].x - mean.x) / sqrt(deviation.x) : 0;
		points[i].y = deviation.y > 1e-12 ? (points[i].y - mean.y) / sqrt(deviation.y) : 0;
	}
}

static void features(const struct excessive *self, struct point2 *points)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		const struct excessive_row *row = &self->rows.data[i];

		points[i] = self->query->raw
				    ? (struct point2){row->frequency, row->life_ms}
				    : (struct point2){log(row->frequency), log(row->life_ms)};
	}
	if (!self->query->raw)
		standardise(points, self->rows.count);
}

/* Means of what was clustered: of logarithms that is the geometric mean. */
static void cluster_means(struct excessive *self, const u8 *cluster_of)
{
	bool raw = self->query->raw;

	memset(self->mean_frequency, 0, sizeof self->mean_frequency);
	memset(self->mean_life_ms, 0, sizeof self->mean_life_ms);
	for (u64 i = 0; i < self->rows.count; i++) {
		const struct excessive_row *row = &self->rows.data[i];
		double n = (double)self->clusters.members[cluster_of[i]];

		self->mean_frequency[cluster_of[i]] +=
			(raw ? row->frequency : log(row->frequency)) / n;
		self->mean_life_ms[cluster_of[i]] += (raw ? row->life_ms : log(row->life_ms)) / n;
	}
	for (u32 c = 0; c < self->clusters.k && !raw; c++) {
		self->mean_frequency[c] = exp(self->mean_frequency[c]);
		self->mean_life_ms[c] = exp(self->mean_life_ms[c]);
	}
}

/* Clusters are numbered by frequency, whatever order chance gave them. */
static void number_clusters(struct excessive *self, u8 *cluster_of)
{
	struct kmeans old = self->clusters;
	u8 order[KMEANS_MAX], number[KMEANS_MAX];

	for (u32 c = 0; c < old.k; c++) {
		u32 at = c;

		for (; at && self->mean_frequency[order[at - 1]] < self->mean_frequency[c]; at--)
			order[at] = order[at - 1];
		order[at] = (u8)c;
	}
	for (u32 c = 0; c < old.k; c++) {
		number[order[c]] = (u8)c;
		self->clusters.centre[c] = old.centre[order[c]];
		self->clusters.members[c] = old.members[order[c]];
	}
	for (u64 i = 0; i < self->rows.count; i++)
		self->rows.data[i].cluster = cluster_of[i] = number[cluster_of[i]];
	cluster_means(self, cluster_of);
}

static double life_feature(const struct excessive *self, double life_ms)
{
	return self->query->raw ? life_ms : log(life_ms);
}

/* How far the mean lives are from that of the most frequent cluster, for the spread within both. */
static void spread_clusters(struct excessive *self)
{
	double squares[KMEANS_MAX] = {0}, first = life_feature(self, self->mean_life_ms[0]);

	for (u64 i = 0; i < self->rows.count; i++) {
		const struct excessive_row *row = &self->rows.data[i];
		double off = life_feature(self, row->life_ms) -
			     life_feature(self, self->mean_life_ms[row->cluster]);

		squares[row->cluster] += off * off;
	}
	for (u32 c = 1; c < self->clusters.k; c++) {
		double freedom =
			       (double)(self->clusters.members[0] + self->clusters.members[c]) - 2,
		       variance = freedom > 0 ? (squares[0] + squares[c]) / freedom : 0,
		       apart = life_feature(self, self->mean_life_ms[c]) - first;

		if (apart != 0)
			apart = variance > 0 ? apart / sqrt(variance) : apart * INFINITY;
		self->apart[c] = fmax(-FAR_APART, fmin(apart, FAR_APART));
	}
}

/* A handful of allocations that are shorter still says nothing about those that are many. */
static bool is_evidence(const struct excessive *self, u32 cluster)
{
	double allocations = 0;

	for (u64 i = 0; i < self->rows.count; i++)
		if (self->rows.data[i].cluster == cluster)
			allocations += self->rows.data[i].frequency;
	return share_of_all(self, allocations) >= self->query->floor;
}

/* The cluster of the highest mean frequency, if its mean life is the lowest. By the paper's rule
 * that is a matter of the means alone; else another is lower only if it is by more than the spread,
 * and one must be higher by as much, or nothing says that this one is short-lived. */
static bool first_is_guilty(const struct excessive *self)
{
	bool lowest = true, higher = false;

	for (u32 c = 1; c < self->clusters.k; c++) {
		if (self->mean_frequency[c] >= self->mean_frequency[0])
			return false;
		if (self->query->paper)
			lowest &= self->mean_life_ms[c] > self->mean_life_ms[0];
		else
			lowest &= self->apart[c] > -EQUAL_LIVES || !is_evidence(self, c);
		higher |= self->query->paper || self->apart[c] >= EQUAL_LIVES;
	}
	return lowest && higher;
}

static void judge_clusters(struct excessive *self)
{
	struct weight weight = {0};
	bool matter;

	if (!first_is_guilty(self))
		return;
	for (u64 i = 0; i < self->rows.count; i++) {
		struct excessive_row *row = &self->rows.data[i];

		if (row->cluster == 0 && !reason_against(self, row))
			weigh(self, row, &weight);
	}
	matter = weight.allocations > 0 && matters(self, &weight);
	if (matter)
		self->guilty = 0;
	for (u64 i = 0; i < self->rows.count; i++)
		if (self->rows.data[i].cluster == 0)
			settle(self, &self->rows.data[i], BY_KMEANS, matter);
}

static int find_clusters(struct excessive *self, struct err *err)
{
	const struct excessive_query *query = self->query;
	struct point2 *points = calloc(self->rows.count, sizeof *points);
	u8 *cluster_of = malloc(self->rows.count);
	struct kmeans_query kmeans = {.points = points,
				      .count = self->rows.count,
				      .seed = query->seed,
				      .restarts = query->restarts};
	u32 k = query->k;
	int status = points && cluster_of ? 0 : err_memory(err);

	if (status == 0) {
		features(self, points);
		status = k ? 0 : kmeans_choose(&kmeans, &k, self->silhouettes, err);
	}
	if (status == 0)
		status = kmeans_fit(&kmeans, k, &self->clusters, cluster_of, err);
	if (status == 0) {
		cluster_means(self, cluster_of);
		number_clusters(self, cluster_of);
		spread_clusters(self);
		judge_clusters(self);
	}
	free(points);
	free(cluster_of);
	return status;
}

/* ---- outliers ---- */

/* µ begins as the IQR itself; of what lies above, the part beyond the largest gap is kept: the two
 * neighbours (the first may be the last one below) whose quotient is largest. rows fall. */
static void find_mu(struct excessive *self)
{
	struct excessive_iqr *iqr = &self->iqr;
	const struct excessive_row *rows = self->rows.data;
	double limit, widest = 0;
	u64 above = 0, cut = 0;

	iqr->mu = iqr->iqr;
	iqr->mu_from = "the IQR";
	limit = iqr->q3 + iqr->mu * iqr->iqr;
	while (above < self->rows.count && rows[above].ratio > limit)
		above++;
	for (u64 i = 1; i <= above && i < self->rows.count; i++) {
		double gap = log(rows[i - 1].ratio / rows[i].ratio);

		if (gap > widest) {
			widest = gap;
			cut = i;
		}
	}
	if (!cut || cut == above || !(iqr->iqr > 0))
		return;
	iqr->mu = (sqrt(rows[cut - 1].ratio * rows[cut].ratio) - iqr->q3) / iqr->iqr;
	iqr->mu_from = "the largest gap above the IQR's";
}

static bool outliers_matter(const struct excessive *self, double threshold)
{
	struct weight weight = {0};

	for (u64 i = 0; i < self->rows.count && self->rows.data[i].ratio > threshold; i++)
		if (!reason_against(self, &self->rows.data[i]))
			weigh(self, &self->rows.data[i], &weight);
	return weight.allocations > 0 && matters(self, &weight);
}

/* The IQR as µ is a number of another unit: where lives are microseconds it is thousands, and no
 * object is above. Then the textbook's extreme outliers count, if they matter. */
static bool lower_mu(struct excessive *self)
{
	struct excessive_iqr *iqr = &self->iqr;
	double threshold = iqr->q3 + EXTREME_MU * iqr->iqr;

	if (self->query->has_mu || self->query->paper || iqr->mu <= EXTREME_MU ||
	    !outliers_matter(self, threshold))
		return false;
	iqr->mu = EXTREME_MU;
	iqr->mu_from = "extreme outliers: no threshold below matters";
	iqr->threshold = threshold;
	return true;
}

static void judge_outliers(struct excessive *self)
{
	bool matter = outliers_matter(self, self->iqr.threshold) || lower_mu(self);

	for (u64 i = 0; i < self->rows.count && self->rows.data[i].ratio > self->iqr.threshold; i++)
		settle(self, &self->rows.data[i], BY_IQR, matter);
}

static int find_outliers(struct excessive *self, struct err *err)
{
	struct excessive_iqr *iqr = &self->iqr;
	u64 count = self->rows.count;
	double *sorted = calloc(count, sizeof *sorted);

	if (!sorted)
		return err_memory(err);
	for (u64 i = 0; i < count; i++)
		sorted[count - 1 - i] = self->rows.data[i].ratio;
	iqr->q1 = quantile(sorted, count, 0.25);
	iqr->q3 = quantile(sorted, count, 0.75);
	iqr->iqr = iqr->q3 - iqr->q1;
	iqr->low = sorted[0];
	iqr->high = sorted[count - 1];
	free(sorted);
	iqr->mu = self->query->mu;
	iqr->mu_from = "given";
	if (!self->query->has_mu)
		find_mu(self);
	iqr->threshold = iqr->q3 + iqr->mu * iqr->iqr;
	judge_outliers(self);
	return 0;
}

/* ---- too few ---- */

/* Nothing is frequent among so few, but what is made and freed a million times is excessive all the
 * same. The paper's rule says nothing of them. */
static void judge_few(struct excessive *self)
{
	for (u64 i = 0; i < self->rows.count && !self->query->paper; i++) {
		struct excessive_row *row = &self->rows.data[i];
		struct weight weight = {0};

		weigh(self, row, &weight);
		if (weight.allocations >= UNSAMPLED_MIN && !reason_against(self, row) &&
		    matters(self, &weight))
			row->found_by = BY_FLOOR;
	}
}

/* ---- both ---- */

static int by_frequency(const void *a, const void *b, void *rows)
{
	const struct excessive_row *x = (struct excessive_row *)rows + *(const u32 *)a,
				   *y = (struct excessive_row *)rows + *(const u32 *)b;

	return falling_real(x->frequency, y->frequency) ?: rising(*(const u32 *)a, *(const u32 *)b);
}

static int list_found(struct excessive *self)
{
	for (u32 i = 0; i < self->rows.count; i++) {
		u8 by = self->rows.data[i].found_by;

		self->found_kmeans += (by & BY_KMEANS) != 0;
		self->found_iqr += (by & BY_IQR) != 0;
		self->found_both += by == BY_BOTH;
		if (by ? !vec_push(&self->found, i)
		       : self->rows.data[i].set_aside && !vec_push(&self->set_aside, i))
			return ERR_MEMORY;
	}
	if (!(self->query->methods & BY_KMEANS))
		return 0;
	if (self->found.count)
		qsort_r(self->found.data, self->found.count, sizeof *self->found.data, by_frequency,
			self->rows.data);
	if (self->set_aside.count)
		qsort_r(self->set_aside.data, self->set_aside.count, sizeof *self->set_aside.data,
			by_frequency, self->rows.data);
	return 0;
}

/* ---- sizes that vary ---- */

static u64 pair_of(const struct object_table *objects, const struct excessive_row *row)
{
	const struct alloc_object *object = &objects->rows.data[row->object];

	return (u64)object->caller.index << 32 | object->destroyer.index;
}

struct sums { /* of a caller and destroyer, over sizes that were not found */
	u32 sizes;
	double allocations;
};

/* A string that grows by a byte is thousands of rare objects: whether any caller has enough
 * allocations by all of its sizes that it is worth to look again. */
static int sizes_hide(const struct excessive *self, bool *hide)
{
	struct sums *sums = calloc(self->rows.count + 1, sizeof *sums);
	struct map by_pair = {0};
	int status = sums ? 0 : ERR_MEMORY;

	*hide = false;
	for (u64 i = 0; i < self->rows.count && status == 0 && !*hide; i++) {
		const struct excessive_row *row = &self->rows.data[i];
		u64 *at = row->found_by ? NULL : map_at(&by_pair, pair_of(&self->objects, row));

		if (row->found_by)
			continue;
		if (!at) {
			status = ERR_MEMORY;
			break;
		}
		if (!*at)
			*at = i + 1;
		sums[*at].sizes++;
		sums[*at].allocations += row->frequency;
		*hide = sums[*at].sizes > 1 &&
			share_of_all(self, sums[*at].allocations) >= self->query->floor;
	}
	map_release(&by_pair);
	free(sums);
	return status;
}

/* Callers that only all sizes together make excessive. */
static int list_varied(struct excessive *self)
{
	struct map listed = {0};
	int status = 0;

	for (u64 i = 0; i < self->found.count && status == 0; i++)
		if (!map_put(&listed,
			     pair_of(&self->objects, &self->rows.data[self->found.data[i]]), 1))
			status = ERR_MEMORY;
	for (u64 i = 0; i < self->callers->found.count && status == 0; i++) {
		u32 at = self->callers->found.data[i];
		const struct excessive_row *row = &self->callers->rows.data[at];
		const struct alloc_object *object = &self->callers->objects.rows.data[row->object];

		if (object->least == object->most ||
		    map_find(&listed, pair_of(&self->callers->objects, row)))
			continue;
		if (!vec_push(&self->varied, at))
			status = ERR_MEMORY;
	}
	map_release(&listed);
	return status;
}

static int find_varied(struct excessive *self, const struct stack_source *source, struct err *err)
{
	bool hide;
	int status;

	if (self->query->by_caller || self->query->paper || !self->enough)
		return 0;
	if (sizes_hide(self, &hide) < 0)
		return err_memory(err);
	if (!hide)
		return 0;
	self->callers = calloc(1, sizeof *self->callers);
	if (!self->callers)
		return err_memory(err);
	self->callers_query = *self->query;
	self->callers_query.by_caller = true;
	self->callers_query.k = 0; /* it was given for another number of objects */
	status = excessive_find(self->callers, source, &self->callers_query, err);
	if (status == 0 && list_varied(self) < 0)
		status = err_memory(err);
	return status;
}

int excessive_find(struct excessive *self, const struct stack_source *source,
		   const struct excessive_query *query, struct err *err)
{
	int status;

	*self = (struct excessive){.query = query,
				   .guilty = UINT32_MAX,
				   .objects = {.by_caller = query->by_caller}};
	call_costs_find(&self->costs, source->model);
	status = objects_find(&self->objects, source, query->wrappers, err);
	if (status == 0 && collect(self) < 0)
		status = err_memory(err);
	if (status == 0 && self->enough && (query->methods & BY_KMEANS)) {
		if (query->k > self->rows.count)
			return err_set(err, ERR_USAGE,
				       "--k %u is more than the number of freed objects, %llu",
				       query->k, (unsigned long long)self->rows.count);
		status = find_clusters(self, err);
	}
	if (status == 0 && self->enough && (query->methods & BY_IQR))
		status = find_outliers(self, err);
	if (status == 0 && !self->enough)
		judge_few(self);
	if (status == 0 && list_found(self) < 0)
		status = err_memory(err);
	return status < 0 ? status : find_varied(self, source, err);
}

double excessive_pair_ns(const struct excessive *self, const struct alloc_object *object)
{
	u32 freed = object->kind == HW_NEW         ? HW_DELETE
		    : object->kind == HW_NEW_ARRAY ? HW_DELETE_ARRAY
		    : object->kind == HW_POOL      ? HW_POOL_FREE
						   : HW_FREE;

	return self->costs.ns[object->kind] + self->costs.ns[freed];
}

void excessive_release(struct excessive *self)
{
	objects_release(&self->objects);
	vec_release(&self->rows);
	vec_release(&self->found);
	vec_release(&self->set_aside);
	vec_release(&self->varied);
	if (self->callers)
		excessive_release(self->callers);
	free(self->callers);
}
