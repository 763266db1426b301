/* SPDX-License-Identifier: MIT
 * Threads: one pass for the sums, one for the matrix.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/threads.h"

#include <math.h>
#include <string.h>

#include "study/layout/peaks.h"
#include "study/model/durations.h"

static struct thread_row *row_of(struct threads_view *self, u32 thread)
{
	return &self->rows.data[thread < self->rows.count ? thread : 0];
}

static void note_time(struct thread_row *row, u64 ticks)
{
	if (ticks > row->last_ticks)
		row->last_ticks = ticks;
}

/* in_program: of the program's own file. */
static const char *outermost_own(const struct stack_source *source, struct frame_id id,
				 bool in_program)
{
	const struct context_table *contexts = &source->model->contexts;
	const char *program = source->model->image.program, *found = "";

	for (u32 at = id.index; at; at = contexts->frames.data[at].parent) {
		struct stack_names names = stack_names(source, (struct frame_id){at});

		if (in_program && strcmp(names.module, program) != 0)
			continue;
		for (u32 i = 0; i < names.count; i++)
			if (frame_is_own(names.module, names.frames[i].function,
					 names.frames[i].file))
				found = names.frames[i].function;
	}
	return found;
}

/* All stacks of a thread begin alike, except where one could not be walked to its end, and those of
 * the first one, in which libraries start before the program does. */
static void note_begin(struct thread_row *row, const struct view_scope *scope,
		       const struct view_chunk *chunk)
{
	enum { LOOKS = 16, FIRST_LOOKS = 4096 };
	const struct model *model = scope->trace->model;
	const struct model_point *points = model->points.data;
	bool first = row->thread < model->threads.count &&
		     model->threads.data[row->thread].tid == model->image.pid;

	if (*row->begins_in || row->looks == (first ? FIRST_LOOKS : LOOKS))
		return;
	row->looks++;
	row->begins_in = outermost_own(&scope->trace->stacks,
				       points[view_point_of(scope, chunk).index].frame, first);
}

static void add_chunk(struct threads_view *self, const struct view_scope *scope,
		      const struct call_costs *costs, const struct view_chunk *chunk)
{
	const struct model *model = scope->trace->model;
	double scale = (double)(1ull << model->count_shift);
	struct thread_row *row = row_of(self, chunk->page->alloc_thread[chunk->at]);
	u32 freer = chunk->page->free_thread[chunk->at];
	u8 kind = chunk->page->kind[chunk->at];
	u64 units, bytes;
	double count;

	view_weigh_chunk(scope, chunk, &units, &bytes);
	count = (double)units / scale;
	note_begin(row, scope, chunk);
	row->chunks += count;
	row->bytes += (double)bytes;
	note_time(row, chunk->page->alloc_ticks[chunk->at]);
	row->alloc_ns += count * costs->ns[kind];
	if (view_is_kept(chunk)) {
		row->kept_chunks += count;
		row->kept_bytes += (double)bytes;
	}
	if (!view_is_freed(chunk))
		return;
	row = row_of(self, freer);
	row->alloc_ns += count * costs->freed_ns;
	note_time(row, chunk->page->free_ticks[chunk->at]);
	if (freer == chunk->page->alloc_thread[chunk->at]) {
		row->frees_own += count;
	} else {
		row->frees_other += count;
		self->foreign_frees++;
	}
}

static int most_first(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int fill_matrix(struct threads_view *self, const struct view_scope *scope, struct err *err)
{
	const struct model *model = scope->trace->model;
	u32 *place = malloc((self->rows.count + 1) * sizeof *place);
	struct view_chunk chunk;

	if (!place)
		return err_memory_for(err, "the threads");
	self->own = self->rows.count < THREAD_MATRIX ? (u32)self->rows.count : THREAD_MATRIX;
	for (u32 i = 0; i < self->rows.count; i++)
		place[self->rows.data[i].thread] = i < self->own ? i : THREAD_MATRIX;
	for (u64 at = 0; view_next(scope, &at, &chunk);) {
		u32 maker = chunk.page->alloc_thread[chunk.at];
		u32 freer = chunk.page->free_thread[chunk.at];
		struct chunk_access access;
		u32 column = THREAD_MATRIX + 1;

		model_pass(model, chunk.number);
		if (view_is_freed(&chunk))
			column = freer < self->rows.count ? place[freer] : THREAD_MATRIX;
		self->matrix[maker < self->rows.count ? place[maker] : THREAD_MATRIX][column]++;
		if (model->has_access && model_chunk_access(model, chunk.number, &access) &&
		    (access.flags & ACCESS_SHARED))
			self->shared_chunks++;
	}
	free(place);
	return view_check(scope, err);
}

static u32 thread_key(const struct view_scope *scope, const struct view_chunk *chunk)
{
	u32 thread = chunk->page->alloc_thread[chunk->at];

	return thread < scope->trace->model->threads.count ? thread : 0;
}

static int add_peaks(struct threads_view *self, const struct view_scope *scope, struct err *err)
{
	double *peaks = calloc(self->rows.count + 1, sizeof *peaks);
	int status = peaks ? 0 : err_memory_for(err, "the threads");

	if (status == 0)
		status = view_peaks(scope, thread_key, peaks, self->rows.count, err);
	for (u64 i = 0; i < self->rows.count && status == 0; i++)
		self->rows.data[i].peak_bytes = peaks[i];
	free(peaks);
	return status;
}

int threads_view_make(struct threads_view *self, const struct view_scope *scope, struct err *err)
{
	u64 threads = scope->trace->model->threads.count;
	struct call_costs costs;
	struct view_chunk chunk;

	if (!vec_extend(&self->rows, threads ? threads : 1))
		return err_memory_for(err, "the threads");
	call_costs_find(&costs, scope->trace->model);
	for (u32 i = 0; i < self->rows.count; i++)
		self->rows.data[i] = (struct thread_row){.thread = i, .begins_in = ""};
	for (u64 at = 0; view_next(scope, &at, &chunk);) {
		if (chunk.at == 0 && view_check(scope, err) < 0)
			return err->code;
		model_pass(scope->trace->model, chunk.number);
		add_chunk(self, scope, &costs, &chunk);
	}
	if (add_peaks(self, scope, err) < 0)
		return err->code;
	if (self->rows.count)
		qsort(self->rows.data, self->rows.count, sizeof *self->rows.data, most_first);
	return fill_matrix(self, scope, err);
}

void threads_view_release(struct threads_view *self) { vec_release(&self->rows); }
