/* SPDX-License-Identifier: MIT
 * Sums by point, and pages of them.
 * Host. */
#define _GNU_SOURCE
#include "view/points.h"

#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "view/divide.h"
#include "view/moments.h"
#include "view/peaks.h"

/* ---- sums ---- */

/* Which threads a point has: as bits if there are few of them; else mostly the one that it had before. */
enum { THREAD_BITS = 64 };

struct thread_sets {
	u64 *bits; /* by point, bit i = thread i; NULL = there are too many */
	u32 *last;
	struct map seen; /* point << 32 | thread + 1 */
};

static bool thread_sets_init(struct thread_sets *self, const struct model *model)
{
	if (model->threads.count <= THREAD_BITS)
		self->bits = calloc(model->points.count + 1, sizeof *self->bits);
	else
		self->last = calloc(model->points.count + 1, sizeof *self->last);
	return self->bits || self->last;
}

static void thread_sets_release(struct thread_sets *self)
{
	free(self->bits);
	free(self->last);
	map_release(&self->seen);
}

static bool note_thread(struct thread_sets *self, struct point_sums *sums, u32 point, u32 thread)
{
	u64 *seen;

	if (self->bits) {
		self->bits[point] |= 1ull << thread % THREAD_BITS;
		return true;
	}
	if (self->last[point] == thread + 1)
		return true;
	self->last[point] = thread + 1;
	seen = map_at(&self->seen, (u64)point << 32 | (thread + 1));
	if (!seen)
		return false;
	if (!*seen)
		sums[point].threads++;
	*seen = 1;
	return true;
}

static void add_chunk(struct point_sums *sums, const struct view_scope *scope,
		      const struct view_chunk *chunk)
{
	double scale = (double)(1ull << scope->trace->model->count_shift);
	u64 units, bytes;
	double count;

	view_weigh_chunk(scope, chunk, &units, &bytes);
	count = (double)units / scale;
	sums->chunks += count;
	sums->bytes += (double)bytes;
	if (view_is_kept(chunk)) {
		sums->kept_chunks += count;
		sums->kept_bytes += (double)bytes;
	}
	if (!view_is_freed(chunk))
		return;
	sums->freed += count;
	if (chunk->page->free_ticks[chunk->at] > chunk->page->alloc_ticks[chunk->at])
		sums->life_ticks += count * (double)(chunk->page->free_ticks[chunk->at] -
						     chunk->page->alloc_ticks[chunk->at]);
	if (!chunk->page->others[chunk->at])
		sums->temporary += count;
}

struct summing {
	const struct view_scope *scope;
	struct point_sums *sums[DIVIDE_MAX]; /* by point */
	struct thread_sets threads[DIVIDE_MAX];
	u32 parts;
};

static int sum_part(void *data, u32 part, u64 first, u64 end, struct err *err)
{
	struct summing *self = data;
	const struct view_scope *scope = self->scope;
	struct point_sums *sums = self->sums[part];
	struct view_chunk chunk;
	u64 page = UINT64_MAX;

	for (u64 at = first; at < end && view_next(scope, &at, &chunk) && chunk.number < end;) {
		u32 point = view_point_of(scope, &chunk);

		if (chunk.number / CHUNK_PAGE != page && view_check(scope, err) < 0)
			return err->code;
		if (chunk.number / CHUNK_PAGE != page)
			model_pass(scope->trace->model, chunk.number / CHUNK_PAGE * CHUNK_PAGE);
		page = chunk.number / CHUNK_PAGE;
		add_chunk(&sums[point], scope, &chunk);
		if (!note_thread(&self->threads[part], sums, point,
				 chunk.page->alloc_thread[chunk.at]))
			return err_set(err, ERR_MEMORY, "out of memory for the points");
	}
	return 0;
}

static void add_sums(struct point_sums *to, const struct point_sums *from)
{
	to->chunks += from->chunks;
	to->bytes += from->bytes;
	to->kept_chunks += from->kept_chunks;
	to->kept_bytes += from->kept_bytes;
	to->temporary += from->temporary;
	to->life_ticks += from->life_ticks;
	to->freed += from->freed;
}

/* The first part has the sums of all in the end. */
static void sum_parts(struct summing *self, u64 points)
{
	for (u32 i = 1; i < self->parts; i++)
		for (u64 k = 0; k < points; k++) {
			add_sums(&self->sums[0][k], &self->sums[i][k]);
			self->threads[0].bits[k] |= self->threads[i].bits[k];
		}
	for (u64 k = 0; self->threads[0].bits && k < points; k++)
		self->sums[0][k].threads = (u32)__builtin_popcountll(self->threads[0].bits[k]);
}

static int sum_chunks(const struct view_scope *scope, struct point_sums *sums, struct err *err)
{
	const struct model *model = scope->trace->model;
	struct summing self = {.scope = scope, .sums = {sums}, .parts = view_parts(scope)};
	int status = 0;

	if (model->threads.count > THREAD_BITS)
		self.parts = 1;
	for (u32 i = 0; i < self.parts && status == 0; i++) {
		if (i)
			self.sums[i] = calloc(model->points.count + 1, sizeof *sums);
		if (!self.sums[i] || !thread_sets_init(&self.threads[i], model))
			status = err_set(err, ERR_MEMORY, "out of memory for the points");
	}
	if (status == 0)
		status = view_divide(scope, self.parts, sum_part, &self, err);
	if (status == 0)
		sum_parts(&self, model->points.count);
	for (u32 i = 0; i < self.parts; i++) {
		thread_sets_release(&self.threads[i]);
		if (i)
			free(self.sums[i]);
	}
	return status;
}

static u32 point_key(const struct view_scope *scope, const struct view_chunk *chunk)
{
	return view_point_of(scope, chunk);
}

/* The model knows the peaks of whole points; those of a selection take the order of its events. */
static int find_peaks(const struct view_scope *scope, struct point_sums *sums, struct err *err)
{
	const struct model *model = scope->trace->model;
	double *peaks = calloc(model->points.count + 1, sizeof *peaks);
	int status = peaks ? 0 : err_set(err, ERR_MEMORY, "out of memory for the points");

	for (u64 i = 0; i < model->points.count && status == 0 && view_is_all(scope); i++)
		peaks[i] = (double)model->points.data[i].peak_bytes;
	if (status == 0 && !view_is_all(scope))
		status = view_peaks(scope, point_key, peaks, model->points.count, err);
	for (u64 i = 0; i < model->points.count && status == 0; i++)
		sums[i].peak_bytes = peaks[i];
	free(peaks);
	return status;
}

/* What was aggregated when the trace had reached its limit has no chunks, but the model knows it. */
static void take_totals(const struct view_scope *scope, struct point_sums *sums)
{
	const struct model *model = scope->trace->model;
	double scale = (double)(1ull << model->count_shift);
	bool exec = model->has_end && model->end.how == IMAGE_EXEC;

	for (u64 i = 0; view_is_all(scope) && i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];

		sums[i].chunks = (double)point->allocations / scale;
		sums[i].bytes = (double)point->bytes;
		sums[i].kept_chunks = exec ? 0 : (double)point->live_chunks / scale;
		sums[i].kept_bytes = exec ? 0 : (double)point->live_bytes;
		sums[i].temporary = (double)point->temporary / scale;
	}
}

struct point_sums *point_sums_compute(const struct view_scope *scope, struct err *err)
{
	struct point_sums *sums = calloc(scope->trace->model->points.count + 1, sizeof *sums);

	if (!sums) {
		err_set(err, ERR_MEMORY, "out of memory for the points");
		return NULL;
	}
	if (sum_chunks(scope, sums, err) == 0 && find_peaks(scope, sums, err) == 0) {
		take_totals(scope, sums);
		return sums;
	}
	free(sums);
	return NULL;
}

/* Those of the whole trace are asked for all the time. */
static int make_whole(void *data, struct err *err)
{
	struct view_trace *trace = data;
	struct view_scope scope = {.trace = trace, .selection = trace->all};

	trace->own_sums = point_sums_compute(&scope, err);
	trace->sums = trace->own_sums;
	return trace->sums ? 0 : err->code;
}

struct point_sums *point_sums_make(const struct view_scope *scope, struct err *err)
{
	u64 bytes = (scope->trace->model->points.count + 1) * sizeof(struct point_sums);
	struct point_sums *copy;

	if (!view_is_all(scope))
		return point_sums_compute(scope, err);
	if (view_once(&scope->trace->sums_once, err, make_whole, scope->trace) < 0)
		return NULL;
	copy = malloc(bytes);
	if (copy)
		memcpy(copy, scope->trace->sums, bytes);
	else
		err_set(err, ERR_MEMORY, "out of memory for the points");
	return copy;
}

/* ---- chunks of a point ---- */

struct point_index {
	u64 *first; /* by point; its chunks end where those of the next begin */
	u32 *numbers;
};

static int make_index(void *data, struct err *err)
{
	struct view_trace *trace = data;
	struct view_scope scope = {.trace = trace, .selection = trace->all};
	u64 points = trace->model->points.count, total = 0;
	struct point_index *self = calloc(1, sizeof *self);
	struct view_chunk chunk;

	trace->point_index = self;
	if (self)
		self->first = calloc(points + 2, sizeof *self->first);
	if (!self || !self->first)
		return err_set(err, ERR_MEMORY, "out of memory for the chunks of points");
	for (u64 at = 0; view_next(&scope, &at, &chunk); total++)
		self->first[view_point_of(&scope, &chunk) + 2]++;
	for (u64 i = 2; i < points + 2; i++)
		self->first[i] += self->first[i - 1];
	self->numbers = malloc((total + 1) * sizeof *self->numbers);
	if (!self->numbers)
		return err_set(err, ERR_MEMORY, "out of memory for the chunks of points");
	/* Each place moves on by one until it is that of the next point. */
	for (u64 at = 0; view_next(&scope, &at, &chunk);)
		self->numbers[self->first[view_point_of(&scope, &chunk) + 1]++] = (u32)chunk.number;
	return 0;
}

int view_point_chunks(struct view_trace *trace, u32 point, struct point_chunks *chunks,
		      struct err *err)
{
	const struct chunks_by_point *known = &trace->model->by_point;
	const struct point_index *index;

	if (known->chunks) {
		chunks->numbers = &known->chunks[known->first[point]];
		chunks->count = known->first[point + 1] - known->first[point];
		return 0;
	}
	if (view_once(&trace->index_once, err, make_index, trace) < 0)
		return err->code;
	index = trace->point_index;
	chunks->numbers = &index->numbers[index->first[point]];
	chunks->count = index->first[point + 1] - index->first[point];
	return 0;
}

void point_index_free(struct point_index *self)
{
	if (!self)
		return;
	free(self->first);
	free(self->numbers);
	free(self);
}

/* ---- order ---- */

static const char *const column_names[POINT_COLUMNS] = {
	"id",        "fn",  "type",     "chunks", "bytes",  "peak",     "leaked",
	"temporary", "sev", "lifetime", "usage",  "useful", "avg_life", "threads",
};

bool point_column_parse(const char *word, size_t bytes, enum point_column *column)
{
	for (u32 i = 0; i < POINT_COLUMNS; i++)
		if (strlen(column_names[i]) == bytes && memcmp(column_names[i], word, bytes) == 0) {
			*column = (enum point_column)i;
			return true;
		}
	return false;
}

struct order {
	const struct points_query_view *query;
	const struct view_trace *trace;
	const struct point_sums *sums;
	const char **names; /* by point, if sorted by name */
	double *keys;       /* by point and sort: what it is sorted by */
};

static double score_of(const struct order *self, u32 point, enum score score)
{
	const struct score_set *scores = &self->trace->scores[point];

	return scores->known[score] ? scores->value[score] : NAN;
}

static double number_of(const struct order *self, u32 point, enum point_column column)
{
	const struct point_sums *sums = &self->sums[point];

	switch (column) {
	case POINT_CHUNKS:
		return sums->chunks;
	case POINT_BYTES:
		return sums->bytes;
	case POINT_PEAK:
		return sums->peak_bytes;
	case POINT_LEAKED:
		return sums->kept_bytes;
	case POINT_TEMPORARY:
		return sums->temporary;
	case POINT_SEV:
		return self->trace->severity[point] ? self->trace->severity[point] : NAN;
	case POINT_LIFETIME:
		return score_of(self, point, SCORE_LIFETIME);
	case POINT_USAGE:
		return score_of(self, point, SCORE_USAGE);
	case POINT_USEFUL:
		return score_of(self, point, SCORE_USEFUL);
	case POINT_AVG_LIFE:
		return sums->freed > 0 ? sums->life_ticks / sums->freed : NAN;
	case POINT_THREADS:
		return sums->threads;
	case POINT_ID:
	case POINT_FN:
	case POINT_TYPE:
	case POINT_COLUMNS:
		break;
	}
	return point;
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

static int by_query(const void *a, const void *b, void *data)
{
	const struct order *self = data;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	for (u32 i = 0; i < self->query->sort_count; i++) {
		int order = compare_by(self, x, y, i);

		if (order)
			return order;
	}
	return x < y ? -1 : x > y;
}

/* ---- rows ---- */

static void name_row(struct point_row *row, const struct view_trace *trace)
{
	struct finding_place place =
		finding_place(&trace->stacks, trace->model->points.data[row->point].frame);

	row->function = place.own.function;
	row->file = place.own.file;
	row->module = place.own.module;
	row->line = place.own.line;
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
		return err_set(err, ERR_MEMORY, "out of memory for the points");
	if (view_point_chunks(scope->trace, row->point, &chunks, err) < 0)
		return err->code;
	for (u64 i = 0; i < chunks.count; i++) {
		u64 number = chunks.numbers[i];
		struct view_chunk chunk = {number, chunk_at(&scope->trace->model->chunks, number),
					   (u32)(number % CHUNK_PAGE)};
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
		    const struct points_query_view *query, const struct order *order,
		    const u32 *points, struct err *err)
{
	struct time_axis axis = {0};
	int status = 0;

	if (query->spark && !time_axis_of(&axis, scope, query->spark))
		return err_set(err, ERR_MEMORY, "out of memory for the points");
	for (u64 i = query->offset; i < self->total && i - query->offset < query->limit; i++) {
		struct point_row row = {.point = points[i], .sums = order->sums[points[i]]};

		name_row(&row, scope->trace);
		if (query->spark)
			status = spark_make(&row, scope, &axis, &self->arena, err);
		if (status == 0 && !vec_push(&self->rows, row))
			status = err_set(err, ERR_MEMORY, "out of memory for the points");
		if (status < 0)
			break;
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
				number_of(self, i, self->query->sorts[k].column);
	return self->keys ? 0 : ERR_MEMORY;
}

int points_page_make(struct points_page *self, const struct view_scope *scope,
		     const struct points_query_view *query, struct err *err)
{
	u64 count = scope->trace->model->points.count;
	struct order order = {.query = query, .trace = scope->trace};
	struct point_sums *sums = NULL;
	u32 *points = calloc(count + 1, sizeof *points);
	int status = ERR_MEMORY;

	if (view_scores(scope->trace, err) == 0 && view_types(scope->trace, err) == 0)
		sums = point_sums_make(scope, err);
	order.sums = sums;
	if (!sums || !points || find_names(&order) < 0 || find_keys(&order) < 0) {
		status = err->code ? err->code : err_set(err, ERR_MEMORY, "out of memory");
		goto out;
	}
	for (u32 i = 0; i < count; i++) {
		if (sums[i].chunks > 0)
			points[self->total++] = i;
		self->chunks += sums[i].chunks;
	}
	qsort_r(points, self->total, sizeof *points, by_query, &order);
	status = add_rows(self, scope, query, &order, points, err);
out:
	free(order.names);
	free(order.keys);
	free(points);
	free(sums);
	return status;
}

void points_page_release(struct points_page *self)
{
	vec_release(&self->rows);
	arena_release(&self->arena);
}
