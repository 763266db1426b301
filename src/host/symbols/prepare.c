/* SPDX-License-Identifier: MIT
 * The thread that reads symbols ahead; see prepare.h. Runs on the host. Nothing fails because of
 * it: a module that was not prepared is read when it is needed. */
#define _GNU_SOURCE
#include "host/symbols/prepare.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/map.h"
#include "host/base/order.h"
#include "host/base/vec.h"

enum {
	/* more modules are left until they are needed: what is read stays in memory */
	PREPARED_MAX = 256,
	/* of CPU time, without rests: most of it would else be spent when the program has ended */
	FREE_NS = 100 * 1000 * 1000,
	REST_NS = 20 * 1000 * 1000,
	RESTS = 100, /* then it takes its share of a busy machine */
	/* addresses are looked up together, for each function is read once for all that are in
	 * it */
	GATHER_NS = 50 * 1000 * 1000,
	ADDRESSES_MAX = 1 << 14,
};

struct address_list {
	struct prepare_address *data;
	u64 count, capacity;
};

struct prepare {
	struct symbolizer *symbolizer; /* the thread's, until it has ended */
	u32 rests;                     /* that it took; the thread's */
	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t told;
	struct arena arena;
	VEC(struct symbolizer_module) modules; /* copies in the arena */
	u64 taken;
	struct address_list addresses; /* to be looked up, each once */
	struct map seen;               /* all that were told: place_key() */
	bool hurry, stop;
};

/* What the thread does next. */
struct work {
	struct symbolizer_module module; /* to be read, if there are no addresses */
	struct address_list addresses;
};

/* Waits for modules, or for more addresses. True when it has been long enough for addresses. */
static bool gather(struct prepare *self)
{
	struct timespec until = clock_time(now_ns() + GATHER_NS);
	bool is_late = false;

	while (!self->stop && self->taken == self->modules.count) {
		if (self->addresses.count && (is_late || self->hurry))
			return true;
		if (self->addresses.count)
			is_late = pthread_cond_timedwait(&self->told, &self->lock, &until) ==
				  ETIMEDOUT;
		else
			pthread_cond_wait(&self->told, &self->lock);
	}
	return false;
}

/* The next module to read, or addresses of those that were read; false when it is time to end.
 * Modules are never forgotten: told anew, they are found again in the symbolizer. */
static bool take(struct prepare *self, struct work *work)
{
	struct address_list done = work->addresses;
	bool found = true;

	vec_clear(&done);
	vec_clear(&work->addresses);
	pthread_mutex_lock(&self->lock);
	if (gather(self)) {
		work->addresses = self->addresses;
		self->addresses = done;
		self->hurry = false;
	} else if (!self->stop) {
		work->module = self->modules.data[self->taken++];
	} else {
		found = false;
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

/* Before each piece of work, when there was much: rests while others want all processors. A thread
 * of the lowest priority would not need to ask, but in the end somebody waits for it: seconds, on a
 * busy machine. False when it is time to end. */
static bool go_on(void *opaque)
{
	struct prepare *self = opaque;
	bool stop;

	pthread_mutex_lock(&self->lock);
	while (!self->stop && self->rests < RESTS && clock_ns(CLOCK_THREAD_CPUTIME_ID) > FREE_NS) {
		struct timespec until;
		bool is_free;

		/* who tells of a module does not wait for a file */
		pthread_mutex_unlock(&self->lock);
		is_free = processor_is_free();
		pthread_mutex_lock(&self->lock);
		if (is_free || self->stop)
			break;
		until = clock_time(now_ns() + REST_NS);
		if (pthread_cond_timedwait(&self->told, &self->lock, &until) == ETIMEDOUT)
			self->rests++;
	}
	stop = self->stop;
	pthread_mutex_unlock(&self->lock);
	return !stop;
}

static void read_module(struct prepare *self, const struct symbolizer_module *module)
{
	struct err err = {0};
	u32 number;

	if (symbolizer_add(self->symbolizer, module, &number, &err) < 0 ||
	    symbolizer_open(self->symbolizer, number, &err) < 0)
		return;
	/* The first one is the program; of libraries few addresses will be asked for. */
	if (number == 0)
		symbolizer_read_ahead(self->symbolizer, number, go_on, self);
}

static int compare_rows(const void *a, const void *b)
{
	const struct prepare_address *x = a, *y = b;

	return rising(x->module, y->module) ?: rising(x->address, y->address);
}

/* Of one module. */
static void look_up(struct prepare *self, const struct prepare_address *rows, u64 count)
{
	u64 *addresses = malloc(count * sizeof(*addresses));
	struct symbolizer_module module;
	struct err err = {0};
	u32 number;

	pthread_mutex_lock(&self->lock);
	module = self->modules.data[rows->module];
	pthread_mutex_unlock(&self->lock);
	for (u64 i = 0; addresses && i < count; i++)
		addresses[i] = rows[i].address;
	if (addresses && symbolizer_add(self->symbolizer, &module, &number, &err) == 0)
		symbolizer_resolve_ahead(self->symbolizer, number, addresses, count, &err);
	free(addresses);
}

static void *run(void *opaque)
{
	struct prepare *self = opaque;
	struct work work = {0};

	while (take(self, &work) && go_on(self)) {
		u64 count = work.addresses.count;

		if (!count)
			read_module(self, &work.module);
		else
			qsort(work.addresses.data, count, sizeof(*work.addresses.data),
			      compare_rows);
		for (u64 i = 0, next; i < count && go_on(self); i = next) {
			for (next = i; next < count && work.addresses.data[next].module ==
							       work.addresses.data[i].module;
			     next++)
				;
			look_up(self, &work.addresses.data[i], next - i);
		}
	}
	vec_release(&work.addresses);
	return NULL;
}

/* With the first module, as a process that is about to fork had better have one thread only.
 * Signals are for other threads. */
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
	struct err err = {0};

	if (!self)
		return NULL;
	pthread_mutex_init(&self->lock, NULL);
	clock_cond_init(&self->told);
	self->symbolizer = symbolizer_new(NULL, &err);
	if (self->symbolizer)
		return self;
	prepare_free(self);
	return NULL;
}

u32 prepare_module(struct prepare *self, const struct symbolizer_module *module)
{
	struct symbolizer_module copy;
	u32 number = PREPARE_NO_MODULE;

	if (!self)
		return number;
	pthread_mutex_lock(&self->lock);
	if (self->modules.count < PREPARED_MAX &&
	    symbolizer_module_copy(&self->arena, module, &copy) && vec_push(&self->modules, copy))
		number = (u32)self->modules.count - 1;
	if (!self->started)
		start(self);
	pthread_cond_signal(&self->told);
	pthread_mutex_unlock(&self->lock);
	return number;
}

/* Addresses in files have fewer bits than that. */
static u64 place_key(const struct prepare_address *row)
{
	return (u64)row->module << 48 ^ row->address;
}

bool prepare_addresses(struct prepare *self, const struct prepare_address *rows, u64 count)
{
	bool wanted = true, waits;

	if (!self)
		return false;
	pthread_mutex_lock(&self->lock);
	waits = !self->addresses.count;
	for (u64 i = 0; i < count && wanted; i++) {
		u64 *seen = rows[i].module < self->modules.count
				    ? map_at(&self->seen, place_key(&rows[i]))
				    : NULL;

		if (seen && !(*seen)++)
			wanted = vec_push(&self->addresses, rows[i]) &&
				 map_count(&self->seen) < ADDRESSES_MAX;
	}
	if (waits && self->addresses.count)
		pthread_cond_signal(&self->told);
	pthread_mutex_unlock(&self->lock);
	return wanted;
}

void prepare_hurry(struct prepare *self)
{
	if (!self)
		return;
	pthread_mutex_lock(&self->lock);
	self->hurry = self->addresses.count != 0;
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
	vec_release(&self->modules);
	arena_release(&self->arena);
	vec_release(&self->addresses);
	map_release(&self->seen);
	pthread_mutex_destroy(&self->lock);
	pthread_cond_destroy(&self->told);
	free(self);
}
