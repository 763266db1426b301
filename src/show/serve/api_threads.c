/* SPDX-License-Identifier: MIT
 * Threads over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "show/serve/api.h"
#include "study/layout/threads.h"

enum { ROWS_MAX = 500 };

/* Threads of another trace: those of the same name, in the order of their start. */
struct threads_base {
	struct threads_view view;
	u32 *row_of; /* by thread of ours: row of theirs + 1; 0 = none. NULL = no other trace */
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

static int threads_base_make(struct threads_base *self, const struct model *ours,
			     const struct view_scope *base, struct err *err)
{
	if (!base->trace)
		return 0;
	if (threads_view_make(&self->view, base, err) < 0)
		return err->code;
	self->row_of = calloc(ours->threads.count + 1, sizeof *self->row_of);
	if (!self->row_of)
		return err_memory_for(err, "the threads");
	for (u32 i = 0; i < ours->threads.count && i < ROWS_MAX; i++) {
		u32 other = thread_match(ours, i, base->trace->model);

		for (u32 k = 0; k < self->view.rows.count; k++)
			if (self->view.rows.data[k].thread == other)
				self->row_of[i] = k + 1;
	}
	return 0;
}

struct threads_answer {
	const struct model *model;
	struct threads_view view;
	struct threads_base base;
};

static void put_thread(struct json *json, const void *list, u64 i)
{
	static const struct thread_row nothing;
	static const struct model_thread unknown;
	const struct threads_answer *self = list;
	const struct model *model = self->model;
	const struct threads_base *base = &self->base;
	const struct thread_row *row = &self->view.rows.data[i];
	bool known = row->thread < model->threads.count;
	const struct model_thread *thread = known ? &model->threads.data[row->thread] : &unknown;
	u32 place = base->row_of && known ? base->row_of[row->thread] : 0;
	const struct thread_row *was = place ? &base->view.rows.data[place - 1] : &nothing;
	u64 start = tick_clock_ns(&model->clock, thread->start_ticks);

	put_object(json, NULL, FIELD("thread", row->thread),
		   field_when(known, FIELD("tid", thread->tid)),
		   field_when(known, FIELD("name", thread->name)),
		   NAME("begins_in", row->begins_in), field_when(known, FIELD("start", start)),
		   FIELD("end", tick_clock_ns(&model->clock, row->last_ticks)),
		   FIELD("allocs", round(row->chunks)), FIELD("bytes", (u64)row->bytes),
		   FIELD("peak", row->peak_bytes), FIELD("live", (u64)row->kept_bytes),
		   FIELD("frees_own", round(row->frees_own)),
		   FIELD("frees_other", round(row->frees_other)),
		   FIELD("kept", (u64)row->kept_bytes),
		   field_if(row->alloc_ns > 0, FIELD("alloc_time", round(row->alloc_ns))),
		   field_when(base->row_of,
			      field_if(place, OBJECT("base", FIELD("thread", was->thread),
						     FIELD("allocs", round(was->chunks)),
						     FIELD("bytes", (u64)was->bytes),
						     FIELD("peak", was->peak_bytes),
						     FIELD("kept", (u64)was->kept_bytes)))),
		   field_when(base->row_of,
			      OBJECT("delta",
				     FIELD("allocs", round(row->chunks) - round(was->chunks)),
				     FIELD("bytes", row->bytes - was->bytes),
				     FIELD("peak", row->peak_bytes - was->peak_bytes),
				     FIELD("kept", row->kept_bytes - was->kept_bytes))));
}

/* Threads in the order of the rows; the last row and the last but one column are of all others, the
 * last column is of chunks that were never freed. */
static void put_matrix_row(struct json *json, const void *list, u64 i)
{
	const struct threads_view *view = list;
	u32 row = i < view->own ? (u32)i : THREAD_MATRIX;

	json_open_flat(json, NULL, '[');
	for (u32 k = 0; k < view->own; k++)
		json_number(json, NULL, view->matrix[row][k]);
	json_number(json, NULL, view->matrix[row][THREAD_MATRIX]);
	json_number(json, NULL, view->matrix[row][THREAD_MATRIX + 1]);
	json_close(json, ']');
}

static void reply_threads(struct call *call, const struct threads_answer *self)
{
	const struct threads_view *view = &self->view;
	u64 rows = view->rows.count;

	reply_object(call, rows > ROWS_MAX, FIELD("threads", self->model->threads.count),
		     LIST("rows", result_top(rows, ROWS_MAX), put_thread, self),
		     FIELD("matrix_threads", view->own),
		     LIST("matrix", view->own + 1, put_matrix_row, view),
		     FIELD("foreign_frees", view->foreign_frees),
		     field_if(self->model->has_access,
			      FIELD("shared_chunks", view->shared_chunks)));
}

/* The views are too large for the stack of a connection's thread. */
void api_threads(struct call *call)
{
	struct threads_answer *self = calloc(1, sizeof *self);
	struct err err = {0};

	if (!self) {
		answer_refuse(call->answer, 500, "out of memory");
		return;
	}
	self->model = call->trace->model;
	if (call_base(call)) {
		if (threads_view_make(&self->view, &call->scope, &err) < 0 ||
		    threads_base_make(&self->base, self->model, &call->base, &err) < 0)
			call_fail(call, &err);
		else
			reply_threads(call, self);
	}
	free(self->base.row_of);
	threads_view_release(&self->base.view);
	threads_view_release(&self->view);
	free(self);
}
