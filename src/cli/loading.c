/* SPDX-License-Identifier: MIT
 * The thread that reads a trace; see loading.h. Host. */
#include "cli/loading.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct loading {
	struct trace_reader *reader;
	struct model *model;
	int status;
	pthread_t thread;
};

static void *read_all(void *data)
{
	struct loading *self = data;
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct err err = {0};

	self->status = model_read(self->model, self->reader, &how, &err);
	return NULL;
}

/* Signals are for other threads. */
static bool start(struct loading *self)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&self->thread, NULL, read_all, self) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void loading_free(struct loading *self)
{
	if (self->reader)
		trace_close(self->reader);
	model_free(self->model);
	free(self);
}

struct loading *loading_begin(const char *path)
{
	struct loading *self = calloc(1, sizeof *self);
	struct err err = {0};

	if (!self)
		return NULL;
	self->reader = trace_open(path, &err);
	self->model = model_new();
	if (self->reader && self->model && start(self))
		return self;
	loading_free(self);
	return NULL;
}

struct model *loading_finish(struct loading *self, struct trace_info *info)
{
	struct model *model = NULL;

	if (!self)
		return NULL;
	pthread_join(self->thread, NULL);
	if (self->status == 0 && self->model->has_image) {
		*info = *trace_info(self->reader);
		model = self->model;
		self->model = NULL;
	}
	loading_free(self);
	return model;
}
