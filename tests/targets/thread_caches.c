/* SPDX-License-Identifier: MIT
 * thread_caches THREADS [ROUNDS [SIZES [end]]]   threads that free known numbers of blocks of known sizes, which the C library keeps for each of them,
 * and then wait; or end, and the first thread does the same. Prints what each thread's cache has, headers included, and by how much more glibc says is in use than is live: it counts
 * what is cached as in use. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc_version.h"

enum { THREADS_MAX = 256, SIZES_MAX = 60, BINS = 64, MOST = 7, HEAD = 8, STAY = 3, FIRST = 24 };

static pthread_barrier_t ready, go, done;
static int rounds = 1, sizes = 5;
static bool end;

static struct worker {
	pthread_t thread;
	int number, tid;
	size_t live, count[BINS]; /* by size: 32, 48 … */
	void *stay[STAY];
} workers[THREADS_MAX];

__attribute__((noinline)) static void *take(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return memset(block, 1, size);
}

static size_t bin_of(size_t bytes) { return (bytes + HEAD + 15) / 16 < 2 ? 0 : (bytes + HEAD + 15) / 16 - 2; }

/* Sizes that are 16 bytes apart at least, so that each has a list of its own. Where a rest would be too small a block is larger than it
 * had to be, and its list another one. */
static void fill(struct worker *self)
{
	void *blocks[MOST];

	for (int i = 0; i < sizes; i++) {
		size_t size = (size_t)(24 + 16 * ((self->number + 11 * i) % 60)), count = (size_t)((self->number + i) % MOST + 1);

		for (size_t k = 0; k < count; k++) {
			self->count[bin_of(size)] -= self->count[bin_of(size)] > 0; /* it comes from there */
			blocks[k] = take(size);
		}
		for (size_t k = 0; k < count; k++) {
			size_t *cached = &self->count[bin_of(malloc_usable_size(blocks[k]))];

			*cached += *cached < (size_t)libc_cache_most();
			free(blocks[k]);
		}
	}
}

static void *work(void *argument)
{
	struct worker *self = argument;

	self->tid = gettid();
	free(take(FIRST)); /* the arena and the cache are there now */
	self->count[bin_of(FIRST)] = 1;
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	for (int i = 0; i < STAY; i++) {
		self->stay[i] = take((size_t)(2000 + 100 * (self->number % 10)));
		self->live += malloc_usable_size(self->stay[i]) + HEAD;
	}
	for (int i = 0; i < rounds; i++)
		fill(self);
	pthread_barrier_wait(&done);
	while (!end)
		pause();
	return NULL;
}

static void print_cache(const struct worker *self)
{
	size_t blocks = 0, bytes = 0;

	for (size_t i = 0; i < BINS; i++) {
		blocks += self->count[i];
		bytes += self->count[i] * (32 + 16 * i);
		if (self->count[i])
			dprintf(1, "size %d %zu %zu\n", self->tid, 32 + 16 * i, self->count[i]);
	}
	dprintf(1, "thread %d %zu %zu\n", self->tid, blocks, bytes);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	size_t before, live = 0;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	sizes = argc > 3 ? atoi(argv[3]) : 5;
	end = argc > 4;
	if (sizes < 1 || sizes > SIZES_MAX)
		return 2;
	pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
	pthread_barrier_init(&go, NULL, (unsigned)count + 1);
	pthread_barrier_init(&done, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++) {
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	pthread_barrier_wait(&ready);
	before = mallinfo2().uordblks - (size_t)count * (FIRST + HEAD);
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&done);
	before = mallinfo2().uordblks - before;
	if (end) {
		for (int i = 0; i < count; i++)
			pthread_join(workers[i].thread, NULL);
		workers[0] = (struct worker){.tid = getpid()};
		fill(workers);
		print_cache(workers);
		return 0;
	}
	for (int i = 0; i < count; i++) {
		const struct worker *worker = &workers[i];

		live += worker->live;
		print_cache(worker);
	}
	dprintf(1, "in_use_not_live %zu\n", before - live);
	return 0;
}
