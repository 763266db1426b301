/* SPDX-License-Identifier: MIT
 * Traces that are opened while the server runs: the threads that load them, and their places. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "format/atomics.h"
#include "lib/test.h"
#include "show/serve/api.h"

struct holding {
	struct study *trace;
	pthread_barrier_t held;
	u32 released;
};

/* No load can end meanwhile. */
static void *hold(void *data)
{
	struct holding *self = data;

	pthread_mutex_lock(&self->trace->lock);
	pthread_barrier_wait(&self->held);
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	store_release(&self->released, 1);
	pthread_mutex_unlock(&self->trace->lock);
	return NULL;
}

TEST(waiting, "a server that ends waits for a trace that is being loaded")
{
	struct api api = {0};
	struct holding holding = {.trace = study_new("/nowhere/t.hwt", &view_options)};
	struct err err = {0};
	pthread_t thread;

	api_init(&api);
	pthread_barrier_init(&holding.held, NULL, 2);
	CHECK_EQ(pthread_create(&thread, NULL, hold, &holding), 0);
	pthread_barrier_wait(&holding.held);
	CHECK_EQ(api_open_trace(&api, holding.trace, &err), 0);
	CHECK_EQ(api.count, 1);
	api_end_loads(&api);
	CHECK(load_acquire(&holding.released));
	CHECK_EQ(study_progress(holding.trace).state, STUDY_FAILED);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&holding.held);
	study_free(holding.trace);
	api_release(&api);
}

TEST(no_thread, "a trace for which no thread can be started takes no place")
{
	struct api api = {0};
	struct study *trace = study_new("/nowhere/t.hwt", &view_options);
	pthread_attr_t huge;
	struct err err = {0};

	api_init(&api);
	pthread_attr_init(&huge);
	CHECK_EQ(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	CHECK_EQ(pthread_setattr_default_np(&huge), 0);
	CHECK_EQ(api_open_trace(&api, trace, &err), ERR_SYSTEM);
	CHECK(strstr(err.text, "cannot start a thread"));
	CHECK_EQ(api.count, 0);
	api_end_loads(&api);
	pthread_attr_destroy(&huge);
	study_free(trace);
	api_release(&api);
}

TEST(places, "more traces than there are places are refused")
{
	struct api api = {.count = API_TRACES_MAX};
	struct study *trace = study_new("/nowhere/t.hwt", &view_options);
	struct err err = {0};

	api_init(&api);
	CHECK_EQ(api_open_trace(&api, trace, &err), ERR_USAGE);
	CHECK_EQ(api.count, API_TRACES_MAX);
	study_free(trace);
	api_release(&api);
}
