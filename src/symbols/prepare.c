/* SPDX-License-Identifier: MIT
 * The thread that reads symbols ahead; see prepare.h. Runs on the host. Nothing fails because of it: a
 * module that was not prepared is read when it is needed. */
#define _GNU_SOURCE
#include "symbols/prepare.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

enum {
	PREPARED_MAX = 256,       /* more modules are left until they are needed: what is read stays in memory */
	FREE_NS = 100 * 1000 * 1000, /* of CPU time, without rests: most of it would else be spent when the program has ended */
	REST_NS = 20 * 1000 * 1000,
	RESTS = 100,              /* then it takes its share of a busy machine */
};

struct prepare {
	struct symbolizer *symbolizer; /* the thread's, until it has ended */
	u32 rests;                     /* that it took; the thread's */
	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t told;
	VEC(struct symbolizer_module) modules; /* path and build_id are copies */
	u64 taken;
	bool stop;
};

/* The next module to read; false when it is time to end. Modules are never forgotten: told anew, they
 * are found again in the symbolizer. */
static bool take(struct prepare *self, struct symbolizer_module *module)
{
	bool found = false;

	pthread_mutex_lock(&self->lock);
	while (!self->stop && self->taken == self->modules.count)
		pthread_cond_wait(&self->told, &self->lock);
	if (!self->stop) {
		*module = self->modules.data[self->taken++];
		found = true;
	}
	pthread_mutex_unlock(&self->lock);
	return found;
}

/* Whether there is a processor for each thread of the machine that wants one, this one included. */
static bool processor_is_free(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	long running = 0;

	if (!file)
		return false;
	if (fscanf(file, "%*s %*s %*s %ld/", &running) != 1)
		running = 0;
	fclose(file);
	return running && running <= sysconf(_SC_NPROCESSORS_ONLN);
}

static u64 cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Before each piece of work, when there was much: rests while others want all processors. A thread of the lowest priority would not need to
 * ask, but in the end somebody waits for it: seconds, on a busy machine. False when it is time to end. */
static bool go_on(void *opaque)
{
	struct prepare *self = opaque;
	bool stop;

	pthread_mutex_lock(&self->lock);
	while (!self->stop && self->rests < RESTS && cpu_ns() > FREE_NS) {
		struct timespec until;
		bool is_free;

		pthread_mutex_unlock(&self->lock); /* who tells of a module does not wait for a file */
		is_free = processor_is_free();
		pthread_mutex_lock(&self->lock);
		if (is_free || self->stop)
			break;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += REST_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_clockwait(&self->told, &self->lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT)
			self->rests++;
	}
	stop = self->stop;
	pthread_mutex_unlock(&self->lock);
	return !stop;
}

static void *run(void *opaque)
{
	struct prepare *self = opaque;
	struct symbolizer_module module;
	struct err err = { 0 };
	u32 number;

	while (take(self, &module) && go_on(self)) {
		if (symbolizer_add(self->symbolizer, &module, &number, &err) < 0 ||
		    symbolizer_open(self->symbolizer, number, &err) < 0)
			continue;
		/* The first one is the program; of libraries few addresses will be asked for. */
		if (number == 0)
			symbolizer_read_ahead(self->symbolizer, number, go_on, self);
	}
	return NULL;
}

/* With the first module, as a process that is about to fork had better have one thread only. Signals
 * are for other threads. */
static void start(struct prepare *self)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	self->started = pthread_create(&self->thread, NULL, run, self) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct prepare *prepare_new(void)
{
	struct prepare *self = calloc(1, sizeof(*self));
	struct err err = { 0 };

	if (!self)
		return NULL;
	pthread_mutex_init(&self->lock, NULL);
	pthread_cond_init(&self->told, NULL);
	self->symbolizer = symbolizer_new(NULL, &err);
	if (self->symbolizer)
		return self;
	prepare_free(self);
	return NULL;
}

static bool copy_module(const struct symbolizer_module *from, struct symbolizer_module *to)
{
	u8 *build_id = malloc(from->build_id_bytes + 1u);

	*to = *from;
	to->path = strdup(from->path);
	to->build_id = build_id;
	if (!to->path || !build_id) {
		free((char *)to->path);
		free(build_id);
		return false;
	}
	if (from->build_id_bytes)
		memcpy(build_id, from->build_id, from->build_id_bytes);
	return true;
}

static void release_module(const struct symbolizer_module *module)
{
	free((char *)module->path);
	free((u8 *)module->build_id);
}

void prepare_module(struct prepare *self, const struct symbolizer_module *module)
{
	struct symbolizer_module copy;

	if (!self || !copy_module(module, &copy))
		return;
	pthread_mutex_lock(&self->lock);
	if (self->modules.count >= PREPARED_MAX || !vec_push(&self->modules, copy))
		release_module(&copy);
	if (!self->started)
		start(self);
	pthread_cond_signal(&self->told);
	pthread_mutex_unlock(&self->lock);
}

struct symbolizer *prepare_finish(struct prepare *self)
{
	if (!self)
		return NULL;
	pthread_mutex_lock(&self->lock);
	self->stop = true;
	pthread_cond_signal(&self->told);
	pthread_mutex_unlock(&self->lock);
	if (self->started && !self->stopped)
		pthread_join(self->thread, NULL);
	self->stopped = true;
	return self->symbolizer;
}

void prepare_free(struct prepare *self)
{
	if (!self)
		return;
	symbolizer_free(prepare_finish(self));
	for (u64 i = 0; i < self->modules.count; i++)
		release_module(&self->modules.data[i]);
	vec_release(&self->modules);
	pthread_mutex_destroy(&self->lock);
	pthread_cond_destroy(&self->told);
	free(self);
}
