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
	struct thread_sets threads; /* if there are many: then there is one part only */
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

static int sum_part(void *data, const struct view_part *part, struct err *err)
{
	struct summing *self = data;
	const struct view_scope *scope = self->scope;
	struct view_chunk chunk;
	u64 page = UINT64_MAX;

	for (u64 at = part->first;
	     at < part->end && view_next(scope, &at, &chunk) && chunk.number < part->end;) {
		struct point_id point = view_point_of(scope, &chunk);
		struct tally_line *line = (struct tally_line *)part->room + point.index;

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

static void join_parts(const struct summing *self, const struct view_division *division,
		       struct point_sums *sums)
{
	const struct model *model = self->scope->trace->model;
	double scale = (double)(1ull << model->count_shift);

	for (u64 k = 0; k < model->points.count; k++) {
		struct tally_line *line = (struct tally_line *)division->rooms[0] + k;

		for (u32 i = 1; i < division->parts; i++)
			add_line(line, (struct tally_line *)division->rooms[i] + k);
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
	struct summing self = {.scope = scope};
	struct view_division division = {.parts = view_parts(scope),
					 .bytes = model->points.count * sizeof(struct tally_line),
					 .what = "the points"};
	int status;

	if (model->threads.count > THREAD_BITS) {
		division.parts = 1;
		self.threads.last = calloc(model->points.count + 1, sizeof(u32));
		if (!self.threads.last)
			return err_memory_for(err, "the points");
	}
	status = view_divide(scope, &division, sum_part, &self, err);
	if (status == 0)
		join_parts(&self, &division, sums);
	view_division_release(&division);
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

int point_peak(const struct view_scope *scope, struct point_id point, double *peak, struct err *err)
{
	VEC(struct key_moment) moments = {0};
	struct point_chunks chunks;

	if (view_point_chunks(scope->trace, point, &chunks, err) < 0)
		return err->code;
	if (chunks.count > CHUNKS_MANY)
		return 1;
	if (!vec_reserve(&moments, 2 * chunks.count + 1))
		return err_memory_for(err, "the peaks");
	for (u64 i = 0; i < chunks.count; i++) {
		struct view_chunk chunk = view_chunk_at(scope, chunks.numbers[i]);

		if (selection_has(&scope->selection, chunk.number))
			moments.count +=
				peak_moments(scope, &chunk, 0, &moments.data[moments.count]);
	}
	*peak = 0;
	peaks_raise(moments.data, moments.count, peak);
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

enum { SUMS_KEPT = 5 }; /* those of the whole trace are asked for all the time */

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
	int status = sums ? stored_put(out, STORED_SUMS,
				       STORED_ROWS(sums, model->points.count, sums_tag()), err)
			  : err->code;

	free(sums);
	return status;
}

/* ---- of a scope ---- */

struct point_sums *point_sums_make(const struct view_scope *scope, struct err *err)
{
	enum { KEY_OF_ALL = 2 }; /* those of scopes are odd */
	const struct model *model = scope->trace->model;
	bool all = view_is_all(scope);
	const struct point_sums *stored = all ? point_sums_stored(model) : NULL;
	u64 key = all ? KEY_OF_ALL : scope->selection.words == scope->own_words ? scope->key : 0;
	struct sums_cache *cache = study_slot(scope->trace, SLOT_SUMS, cache_make, cache_free, err);
	struct point_sums *sums = cache && key ? cache_find(cache, model, key) : NULL;

	if (sums || !cache)
		return sums;
	if (stored) {
		sums = copy_sums(model, stored);
		if (!sums)
			err_memory_for(err, "the points");
		return sums;
	}
	sums = point_sums_compute(scope, err);
	if (sums && key)
		cache_put(cache, key, copy_sums(model, sums));
	return sums;
}
