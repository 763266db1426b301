/* SPDX-License-Identifier: MIT
 * One allocation point: its sizes, lives, threads, and who frees its chunks.
 * Host. */
#define _GNU_SOURCE
#include <string.h>

#include "host/base/keyed.h"
#include "study/layout/points.h"

static u32 log_class(u64 number) { return number ? 64 - (u32)__builtin_clzll(number) : 0; }

static int rising(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int most_first(const void *a, const void *b)
{
	const struct chunk_share *x = a, *y = b;

	if (x->chunks != y->chunks)
		return x->chunks > y->chunks ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct gathering {
	struct point_detail *detail;
	const struct view_scope *scope;
	struct map sites, allocs, frees; /* frame or thread → index + 1 */
	VEC(u64) sizes;
};

static bool count(struct map *map, struct chunk_shares *list, u32 number)
{
	struct chunk_share *share =
		vec_at_key(list, map, number, (struct chunk_share){.number = number});

	if (share)
		share->chunks++;
	return share != NULL;
}

static bool gather(struct gathering *self, const struct view_chunk *chunk)
{
	const struct tick_clock *clock = &self->scope->trace->model->clock;
	struct point_detail *detail = self->detail;
	struct frame_id frame = {0};
	struct err err;
	u64 size = chunk->page->size[chunk->at], from, to;

	detail->chunks++;
	detail->sizes.count[log_class(size)]++;
	if (!vec_push(&self->sizes, size) ||
	    !count(&self->allocs, &detail->allocs, chunk->page->alloc_thread[chunk->at]))
		return false;
	if (!view_is_freed(chunk))
		return true;
	detail->freed++;
	from = tick_clock_ns(clock, chunk->page->alloc_ticks[chunk->at]);
	to = tick_clock_ns(clock, chunk->page->free_ticks[chunk->at]);
	detail->lives.count[log_class(to > from ? to - from : 0)]++;
	return count(&self->frees, &detail->frees, chunk->page->free_thread[chunk->at]) &&
	       model_place(self->scope->trace->model, chunk->page->free_context[chunk->at], &frame,
			   &err) == 0 &&
	       count(&self->sites, &detail->free_sites, frame.index);
}

static void sort_shares(struct chunk_shares *list)
{
	if (list->count)
		qsort(list->data, list->count, sizeof *list->data, most_first);
}

static void settle(struct gathering *self)
{
	struct point_detail *detail = self->detail;
	u64 sizes = self->sizes.count;

	if (sizes) {
		qsort(self->sizes.data, sizes, sizeof(u64), rising);
		detail->min_size = self->sizes.data[0];
		detail->median_size = self->sizes.data[(sizes - 1) / 2];
		detail->max_size = self->sizes.data[sizes - 1];
	}
	sort_shares(&detail->allocs);
	sort_shares(&detail->frees);
	sort_shares(&detail->free_sites);
}

static int gather_all(struct gathering *self, struct point_id point, struct err *err)
{
	const struct view_scope *scope = self->scope;
	struct point_chunks chunks;

	if (view_point_chunks(scope->trace, point, &chunks, err) < 0)
		return err->code;
	for (u64 i = 0; i < chunks.count; i++) {
		u64 number = chunks.numbers[i];
		struct view_chunk chunk = view_chunk_at(scope, number);

		if (i % CHUNK_PAGE == 0 && view_check(scope, err) < 0)
			return err->code;
		if (selection_has(&scope->selection, number) && !gather(self, &chunk))
			return err_memory_for(err, "the point");
	}
	return 0;
}

static int one_peak(const struct view_scope *scope, struct point_id point, double *peak,
		    struct err *err)
{
	int status = point_peak(scope, point, peak, err);
	double *peaks;

	if (status <= 0)
		return status;
	peaks = calloc(scope->trace->model->points.count + 1, sizeof *peaks);
	status = peaks ? point_peaks(scope, peaks, err) : err_memory_for(err, "the point");
	if (status == 0)
		*peak = peaks[point.index];
	free(peaks);
	return status;
}

int point_detail_make(struct point_detail *self, const struct view_scope *scope,
		      struct point_id point, struct err *err)
{
	struct gathering gathering = {.detail = self, .scope = scope};
	struct point_sums *sums = point_sums_make(scope, err);
	int status = sums ? 0 : err->code;

	self->point = point.index;
	if (status == 0)
		status = gather_all(&gathering, point, err);
	if (status == 0)
		self->sums = sums[point.index];
	if (status == 0 && !point_peaks_known(scope))
		status = one_peak(scope, point, &self->sums.peak_bytes, err);
	if (status == 0)
		settle(&gathering);
	free(sums);
	map_release(&gathering.sites);
	map_release(&gathering.allocs);
	map_release(&gathering.frees);
	vec_release(&gathering.sizes);
	return status;
}

void point_detail_release(struct point_detail *self)
{
	vec_release(&self->free_sites);
	vec_release(&self->allocs);
	vec_release(&self->frees);
}
