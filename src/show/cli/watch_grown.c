/* SPDX-License-Identifier: MIT
 * What grew while a program was watched, and who holds it: from the trace, if pointers were
 * recorded twice.
 * Host. Reads the trace while it is written, in a thread of its own: that takes time. */
#include "format/atomics.h"
#include "live/control/control.h"
#include "show/cli/watch_show.h"
#include "show/render/render.h"
#include "study/layout/owners.h"

enum { ROWS = 5, WIDTH = 100 };

static struct result *table_read(const char *path, struct err *err)
{
	const struct study_options how = {.image = STUDY_LAST_IMAGE, .index = INDEX_IGNORE};
	struct study *trace = study_new(path, &how);
	struct result *table = NULL;

	if (trace && study_look(trace, err) == 0 && trace->info.graphs &&
	    study_load(trace, err) == 0)
		table = view_growth(trace, ROWS, err);
	study_free(trace);
	return table;
}

void watch_grown_begin(struct watch_grown *self, struct control *control)
{
	pthread_mutex_lock(&self->lock);
	self->control = control;
	pthread_mutex_unlock(&self->lock);
}

/* Has all that was recorded so far in the file; if that fails, what there is will do. */
static void save(struct watch_grown *self)
{
	struct control_reply reply = {0};
	struct err ignored = {0};

	pthread_mutex_lock(&self->lock);
	if (self->control)
		control_run(self->control, "save", NULL, &reply, &ignored);
	pthread_mutex_unlock(&self->lock);
	strbuf_release(&reply.lines);
}

static void *read_run(void *data)
{
	struct watch_grown *self = data;

	save(self);
	self->err = (struct err){0};
	self->found = table_read(self->path, &self->err);
	store_release(&self->read, 1); /* pairs with watch_grown_serve */
	return NULL;
}

static void read_end(struct watch_grown *self)
{
	if (!self->reading)
		return;
	pthread_join(self->reader, NULL);
	self->reading = false;
	if (self->found && !self->outdated) {
		result_free(self->table);
		self->table = self->found;
	} else {
		result_free(self->found);
	}
	self->found = NULL;
	self->outdated = false;
}

/* The program has replaced itself: nothing of it has grown yet. */
static void start_anew(struct watch_grown *self, u64 earlier)
{
	self->earlier = earlier;
	self->outdated = self->reading;
	result_free(self->table);
	self->table = NULL;
}

void watch_grown_serve(struct watch_grown *self, const struct watch_report *report)
{
	u64 scans = report->pointer_scans;

	if (report->earlier_scans != self->earlier)
		start_anew(self, report->earlier_scans);
	if (self->reading && load_acquire(&self->read)) /* pairs with read_run */
		read_end(self);
	if (self->reading || !self->path || scans < self->earlier + 2 || scans == self->scans)
		return;
	self->scans = scans;
	store_relaxed(&self->read, 0);
	self->reading = pthread_create(&self->reader, NULL, read_run, self) == 0;
}

void watch_grown_finish(struct watch_grown *self, const struct watch_report *report)
{
	read_end(self);
	if (self->err.code) /* it was not complete then */
		self->scans = 0;
	watch_grown_serve(self, report);
	read_end(self);
	if (self->err.code)
		fprintf(stderr, "heapwise: note: what grew is not known: %s\n", self->err.text);
}

void watch_grown_release(struct watch_grown *self)
{
	read_end(self);
	result_free(self->table);
	pthread_mutex_destroy(&self->lock);
}

void watch_show_grown(const struct watch_show *self)
{
	const struct text_style style = {.width = WIDTH};

	if (!self->grown->table)
		return;
	fputc('\n', self->out);
	render_text(self->grown->table, &style, self->out);
}
