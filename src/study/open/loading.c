/* SPDX-License-Identifier: MIT
 * Follows a trace that is being written; see loading.h. Host. Whatever goes wrong ends the model
 * only. */
#define _GNU_SOURCE
#include "study/open/loading.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "format/atomics.h"
#include "host/trace/reader.h"
#include "study/open/following.h"

struct loading {
	char *path;
	struct trace_follow *file;
	struct model *model;
	struct following following;
	bool failed;
	u64 events;    /* that were read */
	bool finished; /* all was read, or given up */
	pthread_t thread;
	bool runs;
	u32 closed; /* the thread may end */
};

/* The next block; false if it has not come yet. */
static bool read_block(struct loading *self)
{
	struct err err = {0};
	int status = trace_follow_read(self->file, &self->events, &err);

	self->failed |= status < 0;
	return status > 0;
}

/* Others may want the memory. */
static void give_up(struct loading *self)
{
	self->failed = true;
	following_release(&self->following);
	trace_follow_end(self->file);
	model_free(self->model);
	self->file = NULL;
	self->model = NULL;
}

/* Ends soon when the file is closed: what is left is not to be read at this priority. */
static void *follow(void *data)
{
	enum { PAUSE_NS = 20000000 };
	struct loading *self = data;

	setpriority(PRIO_PROCESS, 0, 19); /* of this thread alone */
	while (!self->failed && !load_acquire(&self->closed))
		if (!read_block(self))
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	if (self->failed)
		give_up(self);
	return NULL;
}

/* ---- life ---- */

static bool begin(struct loading *self, const char *path)
{
	struct stream_sink sink;
	struct err err = {0};

	self->path = strdup(path);
	self->model = model_new();
	if (!self->path || !self->model)
		return false;
	following_begin(&self->following, self->model, true);
	sink = model_sink(self->model);
	sink.graph = NULL;
	self->file = trace_follow_begin(path, &sink, &err);
	return self->file;
}

/* Signals are for other threads. */
static void thread_begin(struct loading *self)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	self->runs = pthread_create(&self->thread, NULL, follow, self) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void thread_end(struct loading *self)
{
	store_release(&self->closed, 1);
	if (self->runs)
		pthread_join(self->thread, NULL);
	self->runs = false;
}

struct loading *loading_begin(const char *path)
{
	struct loading *self = calloc(1, sizeof *self);

	if (self && begin(self, path)) {
		thread_begin(self);
		return self;
	}
	loading_free(self);
	return NULL;
}

const struct model *loading_finish(struct loading *self, u64 most)
{
	u64 before;

	if (!self)
		return NULL;
	thread_end(self);
	if (!self->model || self->finished)
		return self->model;
	self->finished = true;
	before = self->events;
	while (!self->failed && self->events - before <= most && read_block(self))
		;
	if (trace_follow_is_whole(self->file) && self->model->has_image)
		model_finish(self->model);
	if (self->failed || !following_is_done(&self->following))
		give_up(self);
	return self->model;
}

bool loading_take(struct loading *self, struct study_sums *sums)
{
	*sums = (struct study_sums){.model = self ? self->model : NULL};
	if (!sums->model || !following_take(&self->following, &sums->behaviour, &sums->growth))
		return false;
	following_release(&self->following);
	sums->model->follower = NULL;
	self->model = NULL;
	return true;
}

const char *loading_path(const struct loading *self) { return self ? self->path : ""; }

void loading_free(struct loading *self)
{
	if (!self)
		return;
	thread_end(self);
	give_up(self);
	free(self->path);
	free(self);
}
