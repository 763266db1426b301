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
	pthread_t thread;
	bool runs;
	u32 closed; /* the thread may end */
};

static void read_more(struct loading *self)
{
	struct err err = {0};

	self->failed |= trace_follow_read(self->file, &err) < 0;
}

static void *follow(void *data)
{
	enum { PAUSE_NS = 20000000 };
	struct loading *self = data;

	setpriority(PRIO_PROCESS, 0, 19); /* of this thread alone */
	while (!self->failed && !load_acquire(&self->closed)) {
		read_more(self);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
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

const struct model *loading_finish(struct loading *self)
{
	if (!self)
		return NULL;
	thread_end(self);
	if (!self->failed && self->model && !self->model->finished) {
		read_more(self);
		if (self->model->has_image)
			model_finish(self->model);
	}
	return self->failed || !self->model || !self->model->has_image ? NULL : self->model;
}

struct model *loading_take(struct loading *self, struct behaviour_table *begun,
			   struct growth_samples **growth)
{
	struct model *model = (struct model *)loading_finish(self);

	if (!model || !following_take(&self->following, begun, growth))
		return NULL;
	following_release(&self->following);
	model->follower = NULL;
	self->model = NULL;
	return model;
}

const char *loading_path(const struct loading *self) { return self ? self->path : ""; }

void loading_free(struct loading *self)
{
	if (!self)
		return;
	thread_end(self);
	following_release(&self->following);
	trace_follow_end(self->file);
	model_free(self->model);
	free(self->path);
	free(self);
}
