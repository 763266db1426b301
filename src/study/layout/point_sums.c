/* SPDX-License-Identifier: MIT
 * Sums of a scope's chunks by allocation point.
 * Host. One pass over the chunks, divided among threads; those of recent selections are kept. */
#include "study/layout/points.h"

#include <math.h>
#include <string.h>

#include "host/trace/block.h"
#include "study/layout/divide.h"
#include "study/layout/peaks.h"
#include "study/layout/slots.h"

enum { CHUNKS_MANY = 1 << 18 }; /* of one point: its peak is found with those of all others */

/* ---- threads ---- */

/* Which threads a point has: as bits if there are few of them; else mostly the one that it had
 * before. */
enum { THREAD_BITS = 64 };

struct thread_sets {
	u32 *last;       /* NULL = bits are enough */
	struct map seen; /* point << 32 | thread + 1 */
};

/* What is added up of a point: a cache line, because points come in any order. */
struct tally_line {
	_Alignas(64) u64 units;
	u64 bytes;
	u64 kept_units, kept_bytes;
	u64 freed_units, temporary_units;
	double life_ticks;
	u64 threads; /* bits, or how many */
};

struct summing {
	const struct view_scope *scope;
	struct tally_line *lines[DIVIDE_MAX]; /* by point */
	struct thread_sets threads;           /* if there are many: then there is one part only */
	u32 parts;
};

static bool note_thread(struct thread_sets *self, struct tally_line *line, struct point_id point,
			u32 thread)
{
	u64 *seen;

	if (!self->last) {
		line->threads |= 1ull << thread % THREAD_BITS;
		return true;
	}
	if (self->last[point.index] == thread + 1)
		return true;
	self->last[point.index] = thread + 1;
	seen = map_at(&self->seen, (u64)point.index << 32 | (thread + 1));
	if (!seen)
		return false;
	line->threads += !*seen;
	*seen = 1;
	return true;
}

/* ---- the pass ---- */

static void add_chunk(struct tally_line *line, const struct view_scope *scope,
		      const struct view_chunk *chunk)
{
	const struct chunk_page *page = chunk->page;
	u64 units, bytes;

	view_weigh_chunk(scope, chunk, &units, &bytes);
	line->units += units;
	line->bytes += bytes;
	if (view_is_kept(chunk)) {
		line->kept_units += units;
		line->kept_bytes += bytes;
	}
	if (!view_is_freed(chunk))
		return;
	line->freed_units += units;
	if (page->free_ticks[chunk->at] > page->alloc_ticks[chunk->at])
		line->life_ticks += (double)units * (double)(page->free_ticks[chunk->at] -
							     page->alloc_ticks[chunk->at]);
	if (!page->others[chunk->at])
		line->temporary_units += units;
}

static int sum_part(void *data, u32 part, u64 first, u64 end, struct err *err)
{
	struct summing *self = data;
	const struct view_scope *scope = self->scope;
	struct view_chunk chunk;
	u64 page = UINT64_MAX;

	for (u64 at = first; at < end && view_next(scope, &at, &chunk) && chunk.number < end;) {
		struct point_id point = view_point_of(scope, &chunk);
		struct tally_line *line = &self->lines[part][point.index];

		if (chunk.number / CHUNK_PAGE != page) {
			page = chunk.number / CHUNK_PAGE;
			model_pass(scope->trace->model, page * CHUNK_PAGE);
			if (view_check(scope, err) < 0)
				return err->code;
		}
		add_chunk(line, scope, &chunk);
		if (!note_thread(&self->threads, line, point, chunk.page->alloc_thread[chunk.at]))
			return err_memory_for(err, "the points");
	}
	return 0;
}

static void add_line(struct tally_line *to, const struct tally_line *from)
{
	to->units += from->units;
	to->bytes += from->bytes;
	to->kept_units += from->kept_units;
	to->kept_bytes += from->kept_bytes;
	to->freed_units += from->freed_units;
	to->temporary_units += from->temporary_units;
	to->life_ticks += from->life_ticks;
	to->threads |= from->threads;
}

static void join_parts(const struct summing *self, struct point_sums *sums)
{
	const struct model *model = self->scope->trace->model;
	double scale = (double)(1ull << model->count_shift);

	for (u64 k = 0; k < model->points.count; k++) {
		struct tally_line *line = &self->lines[0][k];

		for (u32 i = 1; i < self->parts; i++)
			add_line(line, &self->lines[i][k]);
		sums[k] = (struct point_sums){.chunks = (double)line->units / scale,
					      .bytes = (double)line->bytes,
					      .kept_chunks = (double)line->kept_units / scale,
					      .kept_bytes = (double)line->kept_bytes,
					      .temporary = (double)line->temporary_units / scale,
					      .life_ticks = line->life_ticks / scale,
					      .freed = (double)line->freed_units / scale,
					      .peak_bytes = NAN,
					      .threads = self->threads.last
								 ? (u32)line->threads
								 : (u32)__builtin_popcountll(
									   line->threads)};
	}
}

static int sum_chunks(const struct view_scope *scope, struct point_sums *sums, struct err *err)
{
	const struct model *model = scope->trace->model;
	struct summing self = {.scope = scope, .parts = view_parts(scope)};
	u64 bytes = (model->points.count + 1) * sizeof **self.lines;
	int status = 0;

	if (model->threads.count > THREAD_BITS) {
		self.parts = 1;
		self.threads.last = calloc(model->points.count + 1, sizeof(u32));
		status = self.threads.last ? 0 : ERR_MEMORY;
	}
	for (u32 i = 0; i < self.parts && status == 0; i++) {
		self.lines[i] = aligned_alloc(64, bytes);
		if (self.lines[i])
			memset(self.lines[i], 0, bytes);
		else
			status = ERR_MEMORY;
	}
	status = status < 0 ? err_memory_for(err, "the points")
			    : view_divide(scope, self.parts, sum_part, &self, err);
	if (status == 0)
		join_parts(&self, sums);
	for (u32 i = 0; i < self.parts; i++)
		free(self.lines[i]);
	free(self.threads.last);
	map_release(&self.threads.seen);
	return status;
}

/* What was aggregated when the trace had reached its limit has no chunks, but the model knows
 * it. */
static void take_totals(const struct model *model, struct point_sums *sums)
{
	double scale = (double)(1ull << model->count_shift);
	bool exec = model_keeps_nothing(model);

	for (u64 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];

		sums[i].chunks = (double)point->allocations / scale;
		sums[i].bytes = (double)point->bytes;
		sums[i].kept_chunks = exec ? 0 : (double)point->live_chunks / scale;
		sums[i].kept_bytes = exec ? 0 : (double)point->live_bytes;
		sums[i].temporary = (double)point->temporary / scale;
		sums[i].peak_bytes = (double)point->peak_bytes;
	}
}

/* ---- peaks ---- */

bool point_peaks_known(const struct view_scope *scope)
{
	const struct model *model = scope->trace->model;

	return view_is_all(scope) || !model->order.count || !model->by_point.chunks;
}

static u32 point_key(const struct view_scope *scope, const struct view_chunk *chunk)
{
	return view_point_of(scope, chunk).index;
}

int point_peaks(const struct view_scope *scope, double *peaks, struct err *err)
{
	return view_peaks(scope, point_key, peaks, scope->trace->model->points.count, err);
}

struct moment {
	u64 ticks;
	i64 change;
};

/* Frees come first of what happens at one moment. */
static int moment_order(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->change < y->change ? -1 : x->change > y->change;
}

int point_peak(const struct view_scope *scope, struct point_id point, double *peak, struct err *err)
{
	VEC(struct moment) moments = {0};
	struct point_chunks chunks;
	i64 live = 0, highest = 0;

	if (view_point_chunks(scope->trace, point, &chunks, err) < 0)
		return err->code;
	if (chunks.count > CHUNKS_MANY)
		return 1;
	if (!vec_reserve(&moments, 2 * chunks.count + 1))
		return err_memory_for(err, "the peaks");
	for (u64 i = 0; i < chunks.count; i++) {
		u64 number = chunks.numbers[i], units, bytes;
		struct view_chunk chunk = view_chunk_at(scope, number);

		if (!selection_has(&scope->selection, number) || !view_is_ever_live(&chunk))
			continue;
		view_weigh_chunk(scope, &chunk, &units, &bytes);
		moments.data[moments.count++] =
			(struct moment){chunk.page->alloc_ticks[chunk.at], (i64)bytes};
		if (view_is_freed(&chunk))
			moments.data[moments.count++] =
				(struct moment){chunk.page->free_ticks[chunk.at], -(i64)bytes};
	}
	qsort(moments.data, moments.count, sizeof *moments.data, moment_order);
	for (u64 i = 0; i < moments.count; i++) {
		live += moments.data[i].change;
		highest = live > highest ? live : highest;
	}
	*peak = (double)highest;
	vec_release(&moments);
	return 0;
}

/* Those of a selection whose events no index has in order are found with the sums. */
static int find_peaks(const struct view_scope *scope, struct point_sums *sums, struct err *err)
{
	u64 points = scope->trace->model->points.count;
	double *peaks = calloc(points + 1, sizeof *peaks);
	int status = peaks ? point_peaks(scope, peaks, err) : err_memory_for(err, "the points");

	for (u64 i = 0; i < points && status == 0; i++)
		sums[i].peak_bytes = peaks[i];
	free(peaks);
	return status;
}

struct point_sums *point_sums_compute(const struct view_scope *scope, struct err *err)
{
	const struct model *model = scope->trace->model;
	struct point_sums *sums = calloc(model->points.count + 1, sizeof *sums);
	int status = sums ? sum_chunks(scope, sums, err) : err_memory_for(err, "the points");

	if (status == 0 && view_is_all(scope))
		take_totals(model, sums);
	else if (status == 0 && point_peaks_known(scope))
		status = find_peaks(scope, sums, err);
	if (status == 0)
		return sums;
	free(sums);
	return NULL;
}

/* ---- what was asked before ---- */

enum { SUMS_KEPT = 4 };

struct sums_cache {
	pthread_mutex_t lock;
	struct {
		u64 key, used;
		struct point_sums *sums;
	} rows[SUMS_KEPT];
	u64 clock;
};

static void *cache_make(struct study *trace, u32 slot, struct err *err)
{
	struct sums_cache *self = calloc(1, sizeof *self);

	(void)trace, (void)slot;
	if (self)
		pthread_mutex_init(&self->lock, NULL);
	else
		err_memory_for(err, "the points");
	return self;
}

static void cache_free(void *self_)
{
	struct sums_cache *self = self_;

	for (u32 i = 0; i < SUMS_KEPT; i++)
		free(self->rows[i].sums);
	free(self);
}

static struct point_sums *copy_sums(const struct model *model, const struct point_sums *sums)
{
	u64 bytes = model->points.count * sizeof *sums;
	struct point_sums *copy = malloc(bytes + sizeof *sums);

	if (copy) /* those of an index have no place after the last */
		memcpy(copy, sums, bytes);
	return copy;
}

static struct point_sums *cache_find(struct sums_cache *self, const struct model *model, u64 key)
{
	struct point_sums *copy = NULL;

	pthread_mutex_lock(&self->lock);
	for (u32 i = 0; i < SUMS_KEPT && !copy; i++)
		if (self->rows[i].key == key) {
			self->rows[i].used = ++self->clock;
			copy = copy_sums(model, self->rows[i].sums);
		}
	pthread_mutex_unlock(&self->lock);
	return copy;
}

/* Takes the sums over. */
static void cache_put(struct sums_cache *self, u64 key, struct point_sums *sums)
{
	u32 oldest = 0;

	if (!sums)
		return;
	pthread_mutex_lock(&self->lock);
	for (u32 i = 1; i < SUMS_KEPT; i++)
		if (self->rows[i].used < self->rows[oldest].used)
			oldest = i;
	free(self->rows[oldest].sums);
	self->rows[oldest].sums = sums;
	self->rows[oldest].key = key;
	self->rows[oldest].used = ++self->clock;
	pthread_mutex_unlock(&self->lock);
}

static struct point_sums *sums_of_selection(const struct view_scope *scope, struct err *err)
{
	const struct model *model = scope->trace->model;
	u64 key = scope->selection.words == scope->own_words ? scope->key : 0;
	struct sums_cache *cache =
		study_slot(scope->trace, SLOT_RECENT_SUMS, cache_make, cache_free, err);
	struct point_sums *sums = cache && key ? cache_find(cache, model, key) : NULL;

	if (sums || !cache)
		return sums;
	sums = point_sums_compute(scope, err);
	if (sums && key)
		cache_put(cache, key, copy_sums(model, sums));
	return sums;
}

/* ---- of all chunks ---- */

enum {
	STORED_SUMS = STORED_ABOVE, /* struct point_sums, by point */
	SUMS_VERSION = 2,           /* changes whenever they are found in another way */
};

static u64 sums_tag(void)
{
	const u64 facts[] = {SUMS_VERSION, sizeof(struct point_sums)};

	return checksum(facts, sizeof facts);
}

const struct point_sums *point_sums_stored(const struct model *model)
{
	u64 points = model->points.count;

	return points ? study_stored(model, STORED_SUMS, sums_tag(), sizeof(struct point_sums),
				     points)
		      : NULL;
}

int point_sums_store(const struct model *model, struct index_writer *out, struct err *err)
{
	/* Only the model is asked of it. */
	struct study trace = {.model = (struct model *)model};
	struct view_scope all = {.trace = &trace};
	struct point_sums *sums = point_sums_compute(&all, err);
	int status = sums ? stored_put(out, STORED_SUMS, sums_tag(), sums,
				       model->points.count * sizeof *sums, err)
			  : err->code;

	free(sums);
	return status;
}

struct whole_sums {
	const struct point_sums *sums;
	struct point_sums *own; /* the same, if they are not the index's */
};

static void whole_free(void *self_)
{
	struct whole_sums *self = self_;

	free(self->own);
	free(self);
}

/* Those of the whole trace are asked for all the time. */
static void *whole_make(struct study *trace, u32 slot, struct err *err)
{
	struct view_scope scope = {.trace = trace, .selection = trace->all};
	struct whole_sums *self = calloc(1, sizeof *self);

	(void)slot;
	if (!self) {
		err_memory_for(err, "the points");
		return NULL;
	}
	self->sums = point_sums_stored(trace->model);
	if (!self->sums)
		self->sums = self->own = point_sums_compute(&scope, err);
	if (self->sums)
		return self;
	free(self);
	return NULL;
}

struct point_sums *point_sums_make(const struct view_scope *scope, struct err *err)
{
	const struct whole_sums *whole;
	struct point_sums *sums;

	if (!view_is_all(scope))
		return sums_of_selection(scope, err);
	whole = study_slot(scope->trace, SLOT_SUMS, whole_make, whole_free, err);
	if (!whole)
		return NULL;
	sums = copy_sums(scope->trace->model, whole->sums);
	if (!sums)
		err_memory_for(err, "the points");
	return sums;
}
