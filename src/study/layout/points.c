/* SPDX-License-Identifier: MIT
 * Sums by point, and pages of them.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/points.h"

#include <math.h>
#include <string.h>

#include "study/analysis/findings/findings.h"
#include "study/layout/moments.h"
#include "study/layout/slots.h"

/* ---- chunks of a point ---- */

struct point_index {
	u64 *first; /* by point; its chunks end where those of the next begin */
	u32 *numbers;
};

static void index_free(void *self_)
{
	struct point_index *self = self_;

	free(self->first);
	free(self->numbers);
	free(self);
}

static void *make_index(struct study *trace, u32 slot, struct err *err)
{
	struct view_scope scope = {.trace = trace, .selection = trace->all};
	u64 points = trace->model->points.count, total = 0;
	struct point_index *self = calloc(1, sizeof *self);
	struct view_chunk chunk;

	(void)slot;
	if (self)
		self->first = calloc(points + 2, sizeof *self->first);
	if (!self || !self->first)
		goto fail;
	for (u64 at = 0; view_next(&scope, &at, &chunk); total++)
		self->first[view_point_of(&scope, &chunk).index + 2]++;
	for (u64 i = 2; i < points + 2; i++)
		self->first[i] += self->first[i - 1];
	self->numbers = malloc((total + 1) * sizeof *self->numbers);
	if (!self->numbers)
		goto fail;
	/* Each place moves on by one until it is that of the next point. */
	for (u64 at = 0; view_next(&scope, &at, &chunk);)
		self->numbers[self->first[view_point_of(&scope, &chunk).index + 1]++] =
			(u32)chunk.number;
	return self;
fail:
	if (self)
		index_free(self);
	err_memory_for(err, "the chunks of points");
	return NULL;
}

int view_point_chunks(struct study *trace, struct point_id point, struct point_chunks *chunks,
		      struct err *err)
{
	const struct chunks_by_point *known = &trace->model->by_point;
	const struct point_index *index;

	if (known->chunks) {
		chunks->numbers = &known->chunks[known->first[point.index]];
		chunks->count = known->first[point.index + 1] - known->first[point.index];
		return 0;
	}
	index = study_slot(trace, SLOT_POINT_CHUNKS, make_index, index_free, err);
	if (!index)
		return err->code;
	chunks->numbers = &index->numbers[index->first[point.index]];
	chunks->count = index->first[point.index + 1] - index->first[point.index];
	return 0;
}

/* ---- order ---- */

static const char *const column_names[POINT_COLUMNS] = {
	[POINT_ID] = "id",
	[POINT_FN] = "fn",
	[POINT_TYPE] = "type",
	[POINT_CHUNKS] = "chunks",
	[POINT_BYTES] = "bytes",
	[POINT_PEAK] = "peak",
	[POINT_LIVE] = "live",
	[POINT_LEAKED] = "kept",
	[POINT_TEMPORARY] = "temporary",
	[POINT_SEV] = "sev",
	[POINT_LIFETIME] = "lifetime",
	[POINT_USAGE] = "usage",
	[POINT_USEFUL] = "useful",
	[POINT_AVG_LIFE] = "avg_life",
	[POINT_THREADS] = "threads",
	[POINT_DELTA] = "delta",
	[POINT_DELTA_CHUNKS] = "delta_chunks",
	[POINT_DELTA_PEAK] = "delta_peak",
	[POINT_DELTA_LEAKED] = "delta_kept",
	[POINT_DELTA_TEMPORARY] = "delta_temporary",
};

/* kept was called leaked. */
static bool is_former_name(const char *word, size_t bytes, enum point_column *column)
{
	bool plain = bytes == 6 && memcmp(word, "leaked", 6) == 0;
	bool delta = bytes == 12 && memcmp(word, "delta_leaked", 12) == 0;

	if (plain || delta)
		*column = plain ? POINT_LEAKED : POINT_DELTA_LEAKED;
	return plain || delta;
}

bool point_column_parse(const char *word, size_t bytes, enum point_column *column)
{
	if (is_former_name(word, bytes, column))
		return true;
	for (u32 i = 0; i < POINT_COLUMNS; i++)
		if (strlen(column_names[i]) == bytes && memcmp(column_names[i], word, bytes) == 0) {
			*column = (enum point_column)i;
			return true;
		}
	return false;
}

struct order {
	const struct points_query_view *query;
	const struct study *trace;
	const struct point_sums *sums;
	const char **names; /* by point, if sorted by name */
	double *keys;       /* by point and sort: what it is sorted by */
	/* Peaks of a selection are found when they are asked for. Until then a point is sorted by
	 * the most that its peak can be, which puts it too early, never too late. */
	const struct view_scope *scope;
	struct point_sums *own_sums;
	u8 *settled; /* by point; NULL = all are */
	u64 found;   /* peaks, so far */
	u32 *heap;   /* points that are left, the first of them first */
	u64 heap_count;
};

static double score_of(const struct order *self, struct point_id point, enum score score)
{
	const struct score_set *scores = &self->trace->scores[point.index];

	return scores->known[score] ? scores->value[score] : NAN;
}

static double number_of(const struct order *self, struct point_id point, enum point_column column)
{
	static const struct point_sums nothing;
	const struct point_sums *sums = &self->sums[point.index];
	const struct point_sums *base =
		self->query->base ? &self->query->base[point.index] : &nothing;

	switch (column) {
	case POINT_CHUNKS: return sums->chunks;
	case POINT_BYTES: return sums->bytes;
	case POINT_PEAK: return sums->peak_bytes;
	case POINT_LIVE:
		return self->query->live ? self->query->live[point.index] : sums->kept_bytes;
	case POINT_LEAKED: return sums->kept_bytes;
	case POINT_DELTA: return sums->bytes - base->bytes;
	case POINT_DELTA_CHUNKS: return sums->chunks - base->chunks;
	case POINT_DELTA_PEAK: return sums->peak_bytes - base->peak_bytes;
	case POINT_DELTA_LEAKED: return sums->kept_bytes - base->kept_bytes;
	case POINT_DELTA_TEMPORARY: return sums->temporary - base->temporary;
	case POINT_TEMPORARY: return sums->temporary;
	case POINT_SEV:
		return self->trace->severity[point.index] ? self->trace->severity[point.index]
							  : NAN;
	case POINT_LIFETIME: return score_of(self, point, SCORE_LIFETIME);
	case POINT_USAGE: return score_of(self, point, SCORE_USAGE);
	case POINT_USEFUL: return score_of(self, point, SCORE_USEFUL);
	case POINT_AVG_LIFE: return sums->freed > 0 ? sums->life_ticks / sums->freed : NAN;
	case POINT_THREADS: return sums->threads;
	case POINT_ID:
	case POINT_FN:
	case POINT_TYPE:
	case POINT_COLUMNS: break;
	}
	return point.index;
}

/* What is unknown comes last, whichever way. */
static int compare_by(const struct order *self, u32 x, u32 y, u32 sort)
{
	enum point_column column = self->query->sorts[sort].column;
	bool falling = self->query->sorts[sort].falling;
	double a, b;

	if (self->names && (column == POINT_FN || column == POINT_TYPE)) {
		int names = strcmp(self->names[x], self->names[y]);

		return falling ? -names : names;
	}
	a = self->keys[(u64)x * self->query->sort_count + sort];
	b = self->keys[(u64)y * self->query->sort_count + sort];
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	if (a == b)
		return 0;
	return (a < b) == falling ? 1 : -1;
}

/* Whether x comes before y: of equal ones the larger. */
static bool comes_first(const struct order *self, u32 x, u32 y)
{
	for (u32 i = 0; i < self->query->sort_count; i++) {
		int order = compare_by(self, x, y, i);

		if (order)
			return order < 0;
	}
	if (self->sums[x].bytes != self->sums[y].bytes)
		return self->sums[x].bytes > self->sums[y].bytes;
	return x < y;
}

static void heap_sink(struct order *self, u64 at)
{
	u32 *heap = self->heap;

	for (;;) {
		u64 first = at, child = 2 * at + 1;
		u32 point = heap[at];

		for (u64 i = child; i <= child + 1 && i < self->heap_count; i++)
			if (comes_first(self, heap[i], heap[first]))
				first = i;
		if (first == at)
			return;
		heap[at] = heap[first];
		heap[first] = point;
		at = first;
	}
}

static void take_peak(struct order *self, struct point_id point, double peak)
{
	self->own_sums[point.index].peak_bytes = peak;
	self->settled[point.index] = 1;
	for (u32 k = 0; k < self->query->sort_count; k++)
		if (self->query->sorts[k].column == POINT_PEAK ||
		    self->query->sorts[k].column == POINT_DELTA_PEAK)
			self->keys[(u64)point.index * self->query->sort_count + k] =
				number_of(self, point, self->query->sorts[k].column);
}

static int settle_all(struct order *self, struct err *err)
{
	u64 points = self->trace->model->points.count;
	double *peaks = calloc(points + 1, sizeof *peaks);
	int status =
		peaks ? point_peaks(self->scope, peaks, err) : err_memory_for(err, "the points");

	for (u32 i = 0; i < points && status == 0; i++)
		take_peak(self, (struct point_id){i}, peaks[i]);
	for (u64 i = self->heap_count / 2; status == 0 && i-- > 0;)
		heap_sink(self, i);
	free(peaks);
	return status;
}

/* The peak of a point; a point of very many chunks is found with all others. */
static int settle(struct order *self, struct point_id point, struct err *err)
{
	double peak;
	int status;

	if (!self->settled || self->settled[point.index])
		return 0;
	if (++self->found % 4 == 0)
		model_rest(self->trace->model);
	status = point_peak(self->scope, point, &peak, err);
	if (status == 0)
		take_peak(self, point, peak);
	return status > 0 ? settle_all(self, err) : status;
}

/* Takes the next point out, with its peak. */
static int next_point(struct order *self, u32 *point, struct err *err)
{
	int status = 0;

	while (self->settled && !self->settled[self->heap[0]] && status == 0) {
		status = settle(self, (struct point_id){self->heap[0]}, err);
		heap_sink(self, 0);
	}
	if (status < 0)
		return status;
	*point = self->heap[0];
	self->heap[0] = self->heap[--self->heap_count];
	heap_sink(self, 0);
	return 0;
}

/* ---- rows ---- */

static void name_row(struct point_row *row, const struct study *trace)
{
	struct finding_place place =
		finding_place(&trace->stacks, trace->model->points.data[row->point].frame);

	row->function = place.own.function;
	row->file = place.own.file;
	row->module = place.own.module;
	row->line = place.own.line;
	row->offset = place.own.offset;
	row->type = trace->point_types[row->point].name;
}

static void spark_scale(const double *values, u32 bins, u8 *spark)
{
	double highest = 0;

	for (u32 i = 0; i < bins; i++)
		highest = fmax(highest, values[i]);
	for (u32 i = 0; highest > 0 && i < bins; i++)
		spark[i] = values[i] > 0 ? (u8)(values[i] / highest * 255 + 0.5) : 0;
}

/* The highest value in each bin counts: a narrow peak must not vanish. */
static int spark_make(struct point_row *row, const struct view_scope *scope,
		      const struct time_axis *axis, struct arena *arena, struct err *err)
{
	struct point_chunks chunks;
	double values[SPARK_MAX + 1] = {0};

	row->spark = arena_new_array(arena, u8, axis->bins);
	if (!row->spark)
		return err_memory_for(err, "the points");
	if (view_point_chunks(scope->trace, (struct point_id){row->point}, &chunks, err) < 0)
		return err->code;
	for (u64 i = 0; i < chunks.count; i++) {
		u64 number = chunks.numbers[i];
		struct view_chunk chunk = view_chunk_at(scope, number);
		int from, to = (int)axis->bins;

		if (!selection_has(&scope->selection, number))
			continue;
		from = time_axis_bin(axis, chunk.page->alloc_ticks[chunk.at]);
		if (view_is_freed(&chunk))
			to = time_axis_bin(axis, chunk.page->free_ticks[chunk.at]);
		if (from == (int)axis->bins || to == BEFORE_AXIS)
			continue;
		values[from < 0 ? 0 : from] += (double)chunk.page->size[chunk.at];
		if (to < (int)axis->bins) /* it counts in the bin in which it ends */
			values[to + 1] -= (double)chunk.page->size[chunk.at];
	}
	for (u32 i = 1; i < axis->bins; i++)
		values[i] += values[i - 1];
	spark_scale(values, axis->bins, row->spark);
	return 0;
}

static int add_rows(struct points_page *self, const struct view_scope *scope,
		    const struct points_query_view *query, struct order *order, struct err *err)
{
	struct time_axis axis = {0};
	int status = 0;

	if (query->spark && !time_axis_of(&axis, scope, query->spark))
		return err_memory_for(err, "the points");
	for (u64 i = 0; i < self->total && status == 0; i++) {
		struct point_row row = {0};

		if (i >= query->offset && i - query->offset >= query->limit)
			break;
		status = next_point(order, &row.point, err);
		if (status < 0 || i < query->offset)
			continue;
		if (i % 8 == 0)
			model_rest(scope->trace->model);
		row.sums = order->sums[row.point];
		name_row(&row, scope->trace);
		if (query->spark)
			status = spark_make(&row, scope, &axis, &self->arena, err);
		if (status == 0 && !vec_push(&self->rows, row))
			status = err_memory_for(err, "the points");
	}
	time_axis_release(&axis);
	return status;
}

/* Names are found for all points only if that is what rows are sorted by. */
static int find_names(struct order *self)
{
	u64 points = self->trace->model->points.count;
	bool by_type = false, by_name = false;

	for (u32 i = 0; i < self->query->sort_count; i++) {
		by_type |= self->query->sorts[i].column == POINT_TYPE;
		by_name |= self->query->sorts[i].column == POINT_FN;
	}
	if (!by_type && !by_name)
		return 0;
	self->names = calloc(points + 1, sizeof *self->names);
	for (u32 i = 0; self->names && i < points; i++) {
		struct point_row row = {.point = i};

		name_row(&row, self->trace);
		self->names[i] = by_name ? row.function : row.type ? row.type : "";
	}
	return self->names ? 0 : ERR_MEMORY;
}

static int find_keys(struct order *self)
{
	u64 points = self->trace->model->points.count;
	u32 sorts = self->query->sort_count;

	self->keys = malloc((points * sorts + 1) * sizeof *self->keys);
	for (u32 i = 0; self->keys && i < points; i++)
		for (u32 k = 0; k < sorts; k++)
			self->keys[(u64)i * sorts + k] =
				number_of(self, (struct point_id){i}, self->query->sorts[k].column);
	return self->keys ? 0 : ERR_MEMORY;
}

/* The most that the peak of a point's selected chunks can be. */
static double peak_bound(const struct view_scope *scope, struct point_id point,
			 const struct point_sums *sums)
{
	double whole = (double)scope->trace->model->order.peaks[point.index];

	return whole < sums->bytes ? whole : sums->bytes;
}

/* Peaks are found one by one only if no order by them has the smallest first. */
static int order_init(struct order *self, struct err *err)
{
	u64 points = self->trace->model->points.count;
	bool rising = false; /* a bound of the peak would not put it early enough */

	self->sums = self->own_sums = point_sums_make(self->scope, err);
	if (!self->sums)
		return err->code;
	for (u32 i = 0; i < self->query->sort_count; i++)
		rising |= (self->query->sorts[i].column == POINT_PEAK &&
			   !self->query->sorts[i].falling) ||
			  self->query->sorts[i].column == POINT_DELTA_PEAK;
	if (!point_peaks_known(self->scope)) {
		self->settled = calloc(points + 1, 1);
		if (!self->settled)
			return err_memory_for(err, "the points");
		for (u32 i = 0; i < points; i++)
			self->own_sums[i].peak_bytes =
				peak_bound(self->scope, (struct point_id){i}, &self->sums[i]);
	}
	self->heap = calloc(points + 1, sizeof *self->heap);
	if (!self->heap || find_names(self) < 0 || find_keys(self) < 0)
		return err_memory_for(err, "the points");
	return self->settled && rising ? settle_all(self, err) : 0;
}

static void order_release(struct order *self)
{
	free(self->names);
	free(self->keys);
	free(self->settled);
	free(self->heap);
	free(self->own_sums);
}

int points_page_make(struct points_page *self, const struct view_scope *scope,
		     const struct points_query_view *query, struct err *err)
{
	u64 count = scope->trace->model->points.count;
	struct order order = {.query = query, .trace = scope->trace, .scope = scope};
	int status = study_scores(scope->trace, err);

	if (status == 0)
		status = study_types(scope->trace, err);
	if (status == 0)
		status = order_init(&order, err);
	for (u32 i = 0; i < count && status == 0; i++) {
		if (order.sums[i].chunks > 0)
			order.heap[order.heap_count++] = i;
		self->chunks += order.sums[i].chunks;
	}
	self->total = order.heap_count;
	for (u64 i = order.heap_count / 2; i-- > 0;)
		heap_sink(&order, i);
	if (status == 0)
		status = add_rows(self, scope, query, &order, err);
	order_release(&order);
	return status;
}

void points_page_release(struct points_page *self)
{
	vec_release(&self->rows);
	arena_release(&self->arena);
}
