/* SPDX-License-Identifier: MIT
 * Threads over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "show/serve/reply.h"
#include "study/layout/threads.h"

enum { ROWS_MAX = 500 };

/* Threads of another trace: those of the same name, in the order of their start. */
struct threads_base {
	struct view_scope scope;
	struct threads_view view;
	u32 *row_of; /* by thread of ours: row of theirs + 1; 0 = none */
	bool given;
};

static const char *thread_name(const struct model *model, u32 thread)
{
	return thread < model->threads.count ? model->threads.data[thread].name : "";
}

/* The thread of theirs that is as many of its name as `thread` is of ours; count if there is
 * none. */
static u32 thread_match(const struct model *ours, u32 thread, const struct model *theirs)
{
	const char *name = thread_name(ours, thread);
	u32 before = 0, at = 0;

	for (u32 i = 0; i < thread; i++)
		before += strcmp(thread_name(ours, i), name) == 0;
	for (; at < theirs->threads.count; at++)
		if (strcmp(thread_name(theirs, at), name) == 0 && !before--)
			break;
	return at;
}

static int threads_base_make(struct threads_base *self, const struct model *ours, struct err *err)
{
	const struct model *theirs = self->scope.trace ? self->scope.trace->model : NULL;

	if (!self->given)
		return 0;
	if (threads_view_make(&self->view, &self->scope, err) < 0)
		return err->code;
	self->row_of = calloc(ours->threads.count + 1, sizeof *self->row_of);
	if (!self->row_of)
		return err_memory_for(err, "the threads");
	for (u32 i = 0; i < ours->threads.count && i < ROWS_MAX; i++) {
		u32 other = thread_match(ours, i, theirs);

		for (u32 k = 0; k < self->view.rows.count; k++)
			if (self->view.rows.data[k].thread == other)
				self->row_of[i] = k + 1;
	}
	return 0;
}

static void threads_base_release(struct threads_base *self)
{
	free(self->row_of);
	threads_view_release(&self->view);
	view_scope_release(&self->scope);
}

static void put_thread_base(struct json *json, const struct threads_base *base,
			    const struct thread_row *row, u64 threads)
{
	static const struct thread_row nothing;
	u32 place = row->thread < threads ? base->row_of[row->thread] : 0;
	const struct thread_row *was = place ? &base->view.rows.data[place - 1] : &nothing;

	if (place)
		put_object(json, "base", FIELD("thread", was->thread),
			   FIELD("allocs", round(was->chunks)), FIELD("bytes", (u64)was->bytes),
			   FIELD("peak", was->peak_bytes), FIELD("kept", (u64)was->kept_bytes));
	else
		json_null(json, "base");
	put_object(json, "delta", FIELD("allocs", round(row->chunks) - round(was->chunks)),
		   FIELD("bytes", row->bytes - was->bytes),
		   FIELD("peak", row->peak_bytes - was->peak_bytes),
		   FIELD("kept", row->kept_bytes - was->kept_bytes));
}

static void put_thread(struct call *call, const struct thread_row *row,
		       const struct threads_base *base)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;

	json_open_flat(json, NULL, '{');
	json_number(json, "thread", row->thread);
	if (row->thread < model->threads.count) {
		const struct model_thread *thread = &model->threads.data[row->thread];

		put_fields(json, FIELD("tid", thread->tid), FIELD("name", thread->name),
			   FIELD("start", tick_clock_ns(&model->clock, thread->start_ticks)));
	}
	put_fields(json, FIELD("end", tick_clock_ns(&model->clock, row->last_ticks)),
		   FIELD("allocs", round(row->chunks)), FIELD("bytes", (u64)row->bytes),
		   FIELD("peak", row->peak_bytes), FIELD("live", (u64)row->kept_bytes),
		   FIELD("frees_own", round(row->frees_own)),
		   FIELD("frees_other", round(row->frees_other)),
		   FIELD("kept", (u64)row->kept_bytes),
		   field_if(row->alloc_ns > 0, FIELD("alloc_time", round(row->alloc_ns))));
	if (base->given)
		put_thread_base(json, base, row, model->threads.count);
	json_close(json, '}');
}

/* Threads in the order of the rows; the last row and the last but one column are of all others, the
 * last column is of chunks that were never freed. */
static void put_matrix(struct json *json, const struct threads_view *view)
{
	json_open_flat(json, "matrix", '[');
	for (u32 i = 0; i <= view->own; i++) {
		u32 row = i < view->own ? i : THREAD_MATRIX;

		json_open_flat(json, NULL, '[');
		for (u32 k = 0; k < view->own; k++)
			json_number(json, NULL, view->matrix[row][k]);
		json_number(json, NULL, view->matrix[row][THREAD_MATRIX]);
		json_number(json, NULL, view->matrix[row][THREAD_MATRIX + 1]);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_threads(struct call *call, const struct threads_view *view,
			const struct threads_base *base)
{
	json_open_flat(&call->json, "data", '{');
	json_number(&call->json, "threads", call->trace->model->threads.count);
	json_open_flat(&call->json, "rows", '[');
	for (u64 i = 0; i < view->rows.count && i < ROWS_MAX; i++)
		put_thread(call, &view->rows.data[i], base);
	json_close(&call->json, ']');
	json_number(&call->json, "matrix_threads", view->own);
	put_matrix(&call->json, view);
	put_fields(&call->json, FIELD("foreign_frees", view->foreign_frees),
		   field_if(call->trace->model->has_access,
			    FIELD("shared_chunks", view->shared_chunks)));
	json_close(&call->json, '}');
}

/* The views are too large for the stack of a connection's thread. */
void api_threads(struct call *call)
{
	struct threads_view *view = calloc(1, sizeof *view);
	struct threads_base *base = calloc(1, sizeof *base);
	struct err err = {0};

	if (!view || !base) {
		answer_refuse(call->answer, 500, "out of memory");
	} else if (call_base(call, &base->scope, &base->given)) {
		if (threads_view_make(view, &call->scope, &err) < 0 ||
		    threads_base_make(base, call->trace->model, &err) < 0) {
			call_fail(call, &err);
		} else if (reply_begin(call, view->rows.count > ROWS_MAX)) {
			put_threads(call, view, base);
			reply_end(call);
		}
	}
	if (base)
		threads_base_release(base);
	if (view)
		threads_view_release(view);
	free(base);
	free(view);
}
