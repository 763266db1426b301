/* SPDX-License-Identifier: MIT
 * Samples the live bytes of the largest points at equal time steps, in one pass over the chunks or
 * while a stream tells of them, and looks for a lasting trend.
 * Host. Memory is bounded: candidates × steps numbers, whatever the trace's size. */
#include "study/analysis/leaks/growth.h"

#include <math.h>
#include <string.h>

#include "host/base/order.h"
#include "study/model/each.h"
#include "study/result/field.h"

enum { CANDIDATES_MAX = 1024 };

struct growth_query growth_defaults(void)
{
	return (struct growth_query){.steps = 64,
				     .min_bytes = 64 << 10,
				     .trend = 0.75,
				     .min_ns = 1000000000};
}

/* ---- samples ---- */

/* A step is 2^shift ticks, so that there are at least query.steps of the run, and fewer than twice
 * as many. Sample i is what was live after all that happened up to i steps after the start. */
struct growth_samples {
	const struct model *model;
	u64 min_bytes;
	u32 most;           /* fewer steps than so many */
	u32 shift;          /* of a step */
	u32 steps;          /* of the run */
	u32 taken;          /* samples, in a stream */
	u64 *units;         /* allocations of all points up to a sample */
	struct map numbers; /* of series, by point: + 1 */
	VEC(i64 *) series;  /* as many samples as `most`, and one more, which takes what is later */
	struct arena arena;
};

static bool samples_init(struct growth_samples *self, const struct model *model,
			 const struct growth_query *query)
{
	u64 steps = query->steps < GROWTH_STEPS_MIN   ? GROWTH_STEPS_MIN
		    : query->steps > GROWTH_STEPS_MAX ? GROWTH_STEPS_MAX
						      : query->steps;

	*self = (struct growth_samples){.model = model,
					.min_bytes = query->min_bytes,
					.most = 2 * (u32)steps};
	self->units = arena_new_array(&self->arena, u64, self->most + 1);
	return self->units;
}

static void samples_release(struct growth_samples *self)
{
	map_release(&self->numbers);
	vec_release(&self->series);
	arena_release(&self->arena);
}

/* The series of a point; NULL if there is none. */
static i64 *series_find(const struct growth_samples *self, u32 point)
{
	const u64 *number = map_find(&self->numbers, point);

	return number ? self->series.data[*number - 1] : NULL;
}

/* Made if there is none; NULL without memory. */
static i64 *series_make(struct growth_samples *self, u32 point)
{
	i64 *series = series_find(self, point);

	if (series)
		return series;
	series = arena_new_array(&self->arena, i64, self->most + 1);
	if (!series || !vec_push(&self->series, series) ||
	    !map_put(&self->numbers, point, self->series.count))
		return NULL;
	return series;
}

/* ---- of a stream ---- */

struct growth_samples *growth_samples_new(const struct model *model)
{
	struct growth_query query = growth_defaults();
	struct growth_samples *self = calloc(1, sizeof *self);

	if (self && samples_init(self, model, &query))
		return self;
	free(self);
	return NULL;
}

void growth_samples_free(struct growth_samples *self)
{
	if (self)
		samples_release(self);
	free(self);
}

/* In a damaged trace times may be anything. */
u64 growth_samples_next(const struct growth_samples *self)
{
	u64 start = self->model->image.start_ticks;

	return self->taken <= (UINT64_MAX - start) >> self->shift
		       ? start + ((u64)self->taken << self->shift)
		       : UINT64_MAX;
}

/* Every second one stays. */
static void samples_halve(struct growth_samples *self)
{
	self->taken = (self->taken + 1) / 2;
	self->shift++;
	for (u32 i = 0; i < self->taken; i++)
		self->units[i] = self->units[2 * i];
	for (u64 k = 0; k < self->series.count; k++)
		for (u32 i = 0; i < self->taken; i++)
			self->series.data[k][i] = self->series.data[k][2 * i];
}

/* The sample whose time has come. What was never so much at a sample is not followed. */
static bool sample_take(struct growth_samples *self)
{
	/* more would take as long as a pass over the chunks, or as much memory */
	enum { POINTS_MAX = 1 << 18, SERIES_MAX = 1 << 16 };
	const struct model *model = self->model;

	if (model->points.count > POINTS_MAX || self->series.count > SERIES_MAX)
		return false;
	self->units[self->taken] = model->totals.allocations;
	for (u32 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];
		bool enough = point->live_bytes >= self->min_bytes;
		i64 *series;

		if (point->peak_bytes < self->min_bytes)
			continue;
		series = enough ? series_make(self, i) : series_find(self, i);
		if (series)
			series[self->taken] = (i64)point->live_bytes;
		else if (enough)
			return false;
	}
	self->taken++;
	return true;
}

bool growth_samples_take(struct growth_samples *self, u64 ticks)
{
	u64 start = self->model->image.start_ticks, last = ticks > start ? ticks - start - 1 : 0;

	while (last >> self->shift >= self->most)
		samples_halve(self);
	while (self->taken < self->most && growth_samples_next(self) < ticks)
		if (!sample_take(self))
			return false;
	return true;
}

/* A point is followed from the first sample on at which it has enough. */
static void follow_from_enough(const struct growth_samples *self, i64 *series)
{
	for (u32 k = 0; k <= self->steps; k++) {
		if (series[k] >= 0 && (u64)series[k] >= self->min_bytes)
			return;
		series[k] = 0;
	}
}

static void follow_all_from_enough(struct growth_samples *self)
{
	for (u64 i = 0; i < self->series.count; i++)
		follow_from_enough(self, self->series.data[i]);
}

void growth_samples_finish(struct growth_samples *self)
{
	self->steps = self->taken ? self->taken - 1 : 0;
	follow_all_from_enough(self);
}

/* ---- at the end of a trace ---- */

struct series_row {
	u32 point, shift;
};

static const struct sums_field number_fields[] = {{0, sizeof(u64), false}};
static const struct sums_field series_fields[] = {SUMS_FIELD(struct series_row, point),
						  SUMS_FIELD(struct series_row, shift)};

/* Of all points; which points have series; their values, one series after the other. */
static void tables_of(u32 id, struct sums_table tables[GROWTH_TABLES])
{
	tables[0] = (struct sums_table)SUMS_TABLE(id, u64, number_fields);
	tables[1] = (struct sums_table)SUMS_TABLE(id + 1, struct series_row, series_fields);
	tables[2] = (struct sums_table)SUMS_TABLE(id + 2, i64, number_fields);
}

void growth_samples_put(const struct growth_samples *self, u32 id, struct sums_out *out)
{
	struct sums_table tables[GROWTH_TABLES];
	struct series_row first = {UINT32_MAX, self->shift};

	tables_of(id, tables);
	sums_out_add(out, &tables[0], self->units, self->steps + 1ull);
	sums_out_add(out, &tables[1], &first, 1);
	for (u32 point = 0; point < self->model->points.count; point++) {
		const i64 *series = series_find(self, point);
		struct series_row row = {point, self->shift};

		if (!series)
			continue;
		sums_out_add(out, &tables[1], &row, 1);
		sums_out_add(out, &tables[2], series, self->steps + 1ull);
	}
}

static bool take_series(struct growth_samples *self, const struct sums_in *in,
			const struct sums_table *tables)
{
	u64 count = sums_in_count(in, &tables[1]), samples = self->steps + 1ull;
	struct series_row *rows = calloc(count + 1, sizeof *rows);
	i64 *values = calloc(sums_in_count(in, &tables[2]) + 1, sizeof *values);
	bool good = rows && values && count &&
		    sums_in_count(in, &tables[2]) == (count - 1) * samples &&
		    sums_in_get(in, &tables[1], rows) && sums_in_get(in, &tables[2], values);

	if (good)
		self->shift = rows[0].shift;
	good = good && self->shift < 63;
	for (u64 i = 1; i < count && good; i++) {
		i64 *series = rows[i].point < self->model->points.count
				      ? series_make(self, rows[i].point)
				      : NULL;

		good = series;
		if (good)
			memcpy(series, values + (i - 1) * samples, samples * sizeof *values);
	}
	free(rows);
	free(values);
	return good;
}

struct growth_samples *growth_samples_take_sums(const struct model *model, const struct sums_in *in,
						u32 id)
{
	struct growth_samples *self = growth_samples_new(model);
	struct sums_table tables[GROWTH_TABLES];
	u64 count;

	tables_of(id, tables);
	count = sums_in_count(in, &tables[0]);
	if (self && count && count <= self->most) {
		self->steps = (u32)count - 1;
		if (sums_in_get(in, &tables[0], self->units) && take_series(self, in, tables))
			return self;
	}
	growth_samples_free(self);
	return NULL;
}

/* ---- of columns ---- */

struct ranked {
	u64 peak_bytes;
	u32 point;
};

struct candidates {
	VEC(struct ranked) rows;
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return falling(x->peak_bytes, y->peak_bytes) ?: rising(x->point, y->point);
}

/* A point that grew by enough had that much live at its own peak. */
static int choose(struct candidates *self, const struct model *model, u64 min_bytes,
		  struct err *err)
{
	bool ok = true;

	for (u32 i = 0; i < model->points.count && ok; i++)
		if (model->points.data[i].peak_bytes >= min_bytes)
			ok = vec_push(&self->rows,
				      ((struct ranked){model->points.data[i].peak_bytes, i}));
	vec_sort(&self->rows, largest_first);
	self->rows.count = result_top(self->rows.count, CANDIDATES_MAX);
	return ok ? 0 : err_memory_for(err, "growing points");
}

/* The first sample at or after ticks; `most` if there is none. */
static u32 sample_at(const struct growth_samples *self, u64 ticks)
{
	u64 start = self->model->image.start_ticks, after = ticks > start ? ticks - start : 0;
	u64 at = (after >> self->shift) + ((after & ((1ull << self->shift) - 1)) != 0);

	return at <= self->steps ? (u32)at : self->most;
}

/* Sizes in a trace may be anything; sums of nonsense wrap. */
static void series_add(i64 *at, u64 bytes) { *at = (i64)((u64)*at + bytes); }

static void sample_chunk(struct growth_samples *self, const struct chunk *chunk)
{
	u32 born = sample_at(self, chunk->page->alloc_ticks[chunk->at]);
	i64 *series = series_find(self, chunk_point(chunk).index);
	u64 units, bytes;

	model_weigh(self->model, chunk->page->size[chunk->at], &units, &bytes);
	self->units[born] += units;
	if (!series)
		return;
	series_add(&series[born], bytes);
	if (chunk_is_freed(chunk))
		series_add(&series[sample_at(self, chunk->page->free_ticks[chunk->at])], -bytes);
}

static void sum_up(const struct growth_samples *self, i64 *series)
{
	for (u32 k = 1; k <= self->steps; k++)
		series_add(&series[k], (u64)series[k - 1]);
}

static bool sample_all(struct growth_samples *self, const struct candidates *candidates)
{
	for (u64 i = 0; i < candidates->rows.count; i++)
		if (!series_make(self, candidates->rows.data[i].point))
			return false;
	EACH_CHUNK (chunk, self->model)
		sample_chunk(self, &chunk);
	for (u32 k = 1; k <= self->steps; k++)
		self->units[k] += self->units[k - 1];
	for (u64 i = 0; i < self->series.count; i++)
		sum_up(self, self->series.data[i]);
	return true;
}

/* ---- judging ---- */

static int by_size(const void *a, const void *b)
{
	return rising_real(*(const double *)a, *(const double *)b);
}

/* Kendall's tau of the values against their order: pairs that rise less pairs that fall, of all
 * pairs. A tie counts for neither, so one or two steps up are no trend. */
static double kendall(const i64 *values, u32 count)
{
	i64 sum = 0;

	for (u32 i = 0; i < count; i++)
		for (u32 k = i + 1; k < count; k++)
			sum += (values[k] > values[i]) - (values[k] < values[i]);
	return (double)sum / ((double)count * (count - 1) / 2);
}

/* The Theil-Sen slope: the median of the slopes of all pairs, in bytes per step. */
static double theil_sen(const i64 *values, u32 count, double *slopes)
{
	u64 n = 0;

	for (u32 i = 0; i < count; i++)
		for (u32 k = i + 1; k < count; k++)
			slopes[n++] = (double)(values[k] - values[i]) / (double)(k - i);
	qsort(slopes, n, sizeof *slopes, by_size);
	return n % 2 ? slopes[n / 2] : (slopes[n / 2 - 1] + slopes[n / 2]) / 2;
}

struct judging {
	const struct growth_samples *samples;
	const struct growth_query *query;
	double *slopes; /* scratch for one point */
	struct growth_table *table;
};

/* The second half is judged, so that start-up does not count, without the last sixteenth of the
 * run, in which programs free everything. */
static bool judge(const struct judging *judging, const i64 *series, struct growth_row *row)
{
	const struct growth_samples *self = judging->samples;
	const struct growth_query *query = judging->query;
	u32 steps = self->steps, half = steps / 2, count = steps - steps / 16 - half + 1;
	const struct model *model = self->model;
	const i64 *values = &series[half];
	double seconds = tick_clock_span_ns(&model->clock, (double)(1ull << self->shift)) / 1e9;
	u64 allocations = model_count(model, model->totals.allocations - self->units[half]);
	double slope;

	row->trend = kendall(values, count);
	row->from_bytes = values[0] > 0 ? (u64)values[0] : 0;
	row->to_bytes = values[count - 1] > 0 ? (u64)values[count - 1] : 0;
	if (!(row->trend >= query->trend))
		return false;
	slope = theil_sen(values, count, judging->slopes);
	row->growth_bytes = slope * (steps - half);
	row->bytes_per_s = seconds > 0 ? slope / seconds : 0;
	row->bytes_per_1000 = allocations ? row->growth_bytes / (double)allocations * 1000 : 0;
	return slope > 0 && row->growth_bytes >= (double)query->min_bytes;
}

static int follow(const struct judging *judging, u32 point, struct err *err)
{
	const struct growth_samples *self = judging->samples;
	struct growth_table *table = judging->table;
	const struct model_point *model_point = &self->model->points.data[point];
	const i64 *values = series_find(self, point);
	struct growth_course course = {.point = {point}, .growth = {.point = {point}}};
	u32 held = 0;

	for (u32 i = 0; i <= self->steps && values; i++)
		held += values[i] > 0 && (u64)values[i] >= model_point->at_peak_bytes / 2;
	course.held = (double)held / (self->steps + 1);
	course.end_bytes = model_point->live_bytes;
	course.grows = values && judge(judging, values, &course.growth);
	if (course.grows && !table->not_judged && !vec_push(&table->rows, course.growth))
		return err_memory_for(err, "growing points");
	return vec_push(&table->courses, course) ? 0 : err_memory_for(err, "growing points");
}

static int fastest_first(const void *a, const void *b)
{
	const struct growth_row *x = a, *y = b;

	return falling_real(x->growth_bytes, y->growth_bytes)
		       ?: rising(x->point.index, y->point.index);
}

static const char *why_not(const struct model *model, const struct growth_query *query)
{
	if (model->aggregated)
		return "the trace reached its size limit, so times of frees are unknown";
	if (!tick_clock_known(&model->clock))
		return "the speed of the recorded clock is unknown";
	if (model_duration_ns(model) < query->min_ns)
		return "the run was too short";
	return NULL;
}

static int follow_all(struct judging *judging, const struct candidates *candidates, struct err *err)
{
	u64 samples = judging->samples->steps / 2 + 2, pairs = samples * samples / 2;
	int status = 0;

	judging->slopes = calloc(pairs, sizeof *judging->slopes);
	if (!judging->slopes)
		return err_memory_for(err, "growing points");
	for (u64 i = 0; i < candidates->rows.count && status == 0; i++)
		status = follow(judging, candidates->rows.data[i].point, err);
	free(judging->slopes);
	return status;
}

/* By the chunks. */
static int find_own(struct growth_samples *self, const struct model *model,
		    const struct growth_query *query, const struct candidates *candidates,
		    struct err *err)
{
	u64 span = model->last_ticks - model->image.start_ticks;

	if (!samples_init(self, model, query))
		return err_memory_for(err, "growing points");
	while (span >> self->shift >= self->most)
		self->shift++;
	self->steps = (u32)(span >> self->shift);
	if (!sample_all(self, candidates))
		return err_memory_for(err, "growing points");
	follow_all_from_enough(self);
	return 0;
}

int growth_find(const struct model *model, const struct growth_query *query,
		const struct growth_samples *told, struct growth_table *self, struct err *err)
{
	struct growth_query usual = growth_defaults();
	struct growth_samples own = {0};
	struct candidates candidates = {0};
	struct judging judging = {told, query, NULL, self};
	int status;

	self->not_judged = why_not(model, query);
	if (model->aggregated || model->last_ticks == model->image.start_ticks)
		return 0;
	status = choose(&candidates, model, query->min_bytes, err);
	if (!told || query->steps != usual.steps || query->min_bytes != usual.min_bytes) {
		judging.samples = &own;
		if (status == 0)
			status = find_own(&own, model, query, &candidates, err);
	}
	self->candidates = self->not_judged ? 0 : candidates.rows.count;
	if (status == 0)
		status = follow_all(&judging, &candidates, err);
	vec_sort(&self->rows, fastest_first);
	samples_release(&own);
	vec_release(&candidates.rows);
	return status;
}

void growth_table_release(struct growth_table *self)
{
	vec_release(&self->rows);
	vec_release(&self->courses);
}

/* ---- result ---- */

static const struct result_column columns[] = {
	COLUMN("bytes_per_s", "per second", VALUE_BYTES,
	       "slope of the live bytes in the second half of the run"),
	COLUMN("bytes_per_1000_allocations", "per 1,000 allocations", VALUE_BYTES,
	       "the same per 1,000 allocations of the whole program"),
	COLUMN("trend", "trend", VALUE_SHARE,
	       "Kendall's tau: 100 % = every later sample is higher"),
	COLUMN("from_bytes", "from", VALUE_BYTES, "live in the middle of the run"),
	COLUMN("to_bytes", "to", VALUE_BYTES, "live before the last sixteenth of the run"),
	COLUMN("growth_bytes", NULL, VALUE_BYTES, "growth in the second half, by the fitted line"),
	COLUMN("point", NULL, VALUE_ID, "number of the point, as in the report"),
	COLUMN("stack", "stack", VALUE_STACK, "innermost frame first"),
};

static struct value rounded(double bytes)
{
	return value_number(bytes > 0 && bytes < 1e18 ? (u64)(bytes + 0.5) : 0);
}

struct result *growth_result(const struct stack_source *source, const struct growth_table *table,
			     u64 top, struct err *err)
{
	struct result *result = result_table("growth", "Growing until the end of the run", columns);

	if (!result)
		return result_made(NULL, err, "growing points");
	result->empty = "none";
	for (u64 i = 0; i < result_top(table->rows.count, top); i++) {
		const struct growth_row *row = &table->rows.data[i];

		result_row(result, rounded(row->bytes_per_s), rounded(row->bytes_per_1000),
			   value_real(row->trend), value_number(row->from_bytes),
			   value_number(row->to_bytes), rounded(row->growth_bytes),
			   value_number(row->point.index),
			   stack_of_point(source, row->point, result));
	}
	if (table->not_judged)
		result_add_caveat(result, "not judged: %s", table->not_judged);
	result_add_more(result, table->rows.count, top);
	return result_made(result, err, "growing points");
}
