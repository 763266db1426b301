/* SPDX-License-Identifier: MIT
 * Samples the live bytes of the largest points at equal time steps, in one pass over the chunks,
 * and looks for a lasting trend.
 * Host. Memory is bounded: candidates × steps numbers, whatever the trace's size. */
#include "study/analysis/leaks/growth.h"

#include <math.h>

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

struct sampler {
	const struct model *model;
	u32 steps;
	u64 start_ticks;
	double steps_per_tick;
	u32 *candidate_of; /* by point: number of the candidate + 1 */
	u32 *points;       /* by candidate */
	u32 count;
	/* By candidate, steps + 2 of each: first the changes since the sample before, then live
	 * bytes. The last one takes what comes after the last sample. */
	i64 *series;
	u64 window_units; /* allocations of all points in the second half, in units */
	double *slopes;   /* scratch for one candidate */
	struct arena arena;
};

/* ---- candidates ---- */

struct ranked {
	u64 peak_bytes;
	u32 point;
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return falling(x->peak_bytes, y->peak_bytes) ?: rising(x->point, y->point);
}

/* A point that grew by enough had that much live at its own peak. */
static int choose(struct sampler *self, u64 min_bytes, struct err *err)
{
	const struct model *model = self->model;
	VEC(struct ranked) ranked = {0};
	bool ok = true;

	for (u32 i = 0; i < model->points.count && ok; i++)
		if (model->points.data[i].peak_bytes >= min_bytes)
			ok = vec_push(&ranked,
				      (struct ranked){model->points.data[i].peak_bytes, i});
	vec_sort(&ranked, largest_first);
	self->count = (u32)result_top(ranked.count, CANDIDATES_MAX);
	self->candidate_of = arena_new_array(&self->arena, u32, model->points.count + 1);
	self->points = arena_new_array(&self->arena, u32, self->count + 1);
	self->series = arena_new_array(&self->arena, i64, (u64)self->count * (self->steps + 2) + 1);
	ok = ok && self->candidate_of && self->points && self->series;
	for (u32 i = 0; i < self->count && ok; i++) {
		self->points[i] = ranked.data[i].point;
		self->candidate_of[ranked.data[i].point] = i + 1;
	}
	vec_release(&ranked);
	return ok ? 0 : err_memory_for(err, "growing points");
}

/* ---- sampling ---- */

/* The first sample at or after ticks: sample i is at i / steps of the run. */
static u32 sample_at(const struct sampler *self, u64 ticks)
{
	double at;

	if (ticks <= self->start_ticks)
		return 0;
	at = ceil((double)(ticks - self->start_ticks) * self->steps_per_tick);
	return at <= self->steps ? (u32)at : self->steps + 1;
}

/* Sizes in a trace may be anything; sums of nonsense wrap. */
static void series_add(i64 *at, u64 bytes) { *at = (i64)((u64)*at + bytes); }

static void sample_chunk(struct sampler *self, const struct chunk *chunk)
{
	u32 born = sample_at(self, chunk->page->alloc_ticks[chunk->at]);
	u32 candidate = self->candidate_of[chunk_point(chunk).index];
	u64 units, bytes;
	i64 *series;

	model_weigh(self->model, chunk->page->size[chunk->at], &units, &bytes);
	if (born > self->steps / 2)
		self->window_units += units;
	if (!candidate)
		return;
	series = &self->series[(u64)(candidate - 1) * (self->steps + 2)];
	series_add(&series[born], bytes);
	if (chunk_is_freed(chunk))
		series_add(&series[sample_at(self, chunk->page->free_ticks[chunk->at])], -bytes);
}

static void sample_all(struct sampler *self)
{
	EACH_CHUNK (chunk, self->model)
		sample_chunk(self, &chunk);
	for (u32 i = 0; i < self->count; i++) {
		i64 *series = &self->series[(u64)i * (self->steps + 2)];

		for (u32 k = 1; k <= self->steps; k++)
			series_add(&series[k], (u64)series[k - 1]);
	}
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

/* The second half is judged, so that start-up does not count, without the last sixteenth of the
 * run, in which programs free everything. */
static bool judge(struct sampler *self, const struct growth_query *query, u32 candidate,
		  struct growth_row *row)
{
	u32 half = self->steps / 2, count = self->steps - self->steps / 16 - half + 1;
	const i64 *values = &self->series[(u64)candidate * (self->steps + 2) + half];
	double seconds = (double)model_duration_ns(self->model) / 1e9 / self->steps;
	u64 allocations = model_count(self->model, self->window_units);
	double slope;

	*row = (struct growth_row){.point = {self->points[candidate]},
				   .trend = kendall(values, count),
				   .from_bytes = values[0] > 0 ? (u64)values[0] : 0,
				   .to_bytes = values[count - 1] > 0 ? (u64)values[count - 1] : 0};
	if (row->trend < query->trend)
		return false;
	slope = theil_sen(values, count, self->slopes);
	row->growth_bytes = slope * (self->steps - half);
	row->bytes_per_s = seconds > 0 ? slope / seconds : 0;
	row->bytes_per_1000 = allocations ? row->growth_bytes / (double)allocations * 1000 : 0;
	return slope > 0 && row->growth_bytes >= (double)query->min_bytes;
}

static int follow(struct sampler *self, const struct growth_query *query, u32 candidate,
		  struct growth_table *table, struct err *err)
{
	const i64 *values = &self->series[(u64)candidate * (self->steps + 2)];
	struct growth_course course = {.point = {self->points[candidate]},
				       .end_bytes = values[self->steps] > 0
							    ? (u64)values[self->steps]
							    : 0};
	u64 half = self->model->points.data[course.point.index].at_peak_bytes / 2;
	u32 held = 0;

	for (u32 i = 0; i <= self->steps; i++)
		held += values[i] > 0 && (u64)values[i] >= half;
	course.held = (double)held / (self->steps + 1);
	course.grows = judge(self, query, candidate, &course.growth);
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

int growth_find(const struct model *model, const struct growth_query *query,
		struct growth_table *self, struct err *err)
{
	u64 steps = query->steps < GROWTH_STEPS_MIN   ? GROWTH_STEPS_MIN
		    : query->steps > GROWTH_STEPS_MAX ? GROWTH_STEPS_MAX
						      : query->steps;
	struct sampler sampler = {.model = model,
				  .steps = (u32)steps,
				  .start_ticks = model->image.start_ticks};
	u64 span = model->last_ticks - model->image.start_ticks, samples = steps / 2 + 2,
	    pairs = samples * samples / 2;
	int status;

	self->not_judged = why_not(model, query);
	if (model->aggregated || !span)
		return 0;
	sampler.steps_per_tick = (double)steps / (double)span;
	sampler.slopes = arena_new_array(&sampler.arena, double, pairs);
	status = sampler.slopes ? choose(&sampler, query->min_bytes, err)
				: err_memory_for(err, "growing points");
	if (status == 0 && sampler.count)
		sample_all(&sampler);
	self->candidates = self->not_judged ? 0 : sampler.count;
	for (u32 i = 0; i < sampler.count && status == 0; i++)
		status = follow(&sampler, query, i, self, err);
	vec_sort(&self->rows, fastest_first);
	arena_release(&sampler.arena);
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
