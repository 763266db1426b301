/* SPDX-License-Identifier: MIT
 * Traces that are added while others are looked at, and the threads that load them. Runs on threads
 * of the server and on those. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "show/serve/api.h"

int api_load(struct api *self, struct study *trace, struct err *err)
{
	int status = study_load(trace, err);

	if (status == 0 && trace->index.bytes && self->on_index)
		self->on_index(trace);
	return status;
}

int api_check_room(const struct api *self, struct err *err)
{
	if (load_acquire(&self->count) < API_TRACES_MAX)
		return 0;
	return err_set(err, ERR_USAGE, "too many traces: at most %d can be served", API_TRACES_MAX);
}

/* With the lock. */
static void trace_put(struct api *self, struct study *trace)
{
	self->traces[self->count] = trace;
	store_release(&self->count, self->count + 1); /* pairs with call_trace_slot */
}

bool api_add_trace(struct api *self, struct study *trace)
{
	struct err err;
	bool room;

	pthread_mutex_lock(&self->lock);
	room = api_check_room(self, &err) == 0;
	if (room)
		trace_put(self, trace);
	pthread_mutex_unlock(&self->lock);
	return room;
}

struct loading {
	struct api *api;
	struct study *trace;
};

static void *load(void *data)
{
	struct loading *self = data;
	struct api *api = self->api;
	struct err err = {0};

	api_load(api, self->trace, &err); /* the status shows a failure */
	free(self);
	pthread_mutex_lock(&api->lock);
	api->loads--;
	pthread_cond_broadcast(&api->changed);
	pthread_mutex_unlock(&api->lock);
	return NULL;
}

/* With the lock: a trace that no thread loads would keep its place and never be ready. */
static int load_begin(struct api *self, struct study *trace, struct err *err)
{
	struct loading *loading = calloc(1, sizeof *loading);
	pthread_t thread;
	int failure;

	if (!loading)
		return err_memory(err);
	*loading = (struct loading){self, trace};
	failure = pthread_create(&thread, NULL, load, loading);
	if (failure) {
		free(loading);
		return err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
	}
	pthread_detach(thread);
	self->loads++;
	return 0;
}

int api_open_trace(struct api *self, struct study *trace, struct err *err)
{
	int status;

	pthread_mutex_lock(&self->lock);
	status = api_check_room(self, err);
	if (status == 0)
		status = load_begin(self, trace, err);
	if (status == 0)
		trace_put(self, trace);
	pthread_mutex_unlock(&self->lock);
	return status;
}

void api_end_loads(struct api *self)
{
	pthread_mutex_lock(&self->lock);
	for (u32 i = 0; i < self->count && self->loads; i++)
		study_cancel(self->traces[i]);
	while (self->loads)
		pthread_cond_wait(&self->changed, &self->lock);
	pthread_mutex_unlock(&self->lock);
}
