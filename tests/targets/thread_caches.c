/* SPDX-License-Identifier: MIT
 * thread_caches THREADS [ROUNDS [SIZES]]   threads that free known numbers of blocks of known sizes, which the C library keeps for each of them, and
 * then wait. Prints what each thread's cache has, headers included, and by how much more glibc says is in use than is live: it counts
 * what is cached as in use. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 256, SIZES_MAX = 60, MOST = 7, HEAD = 8, STAY = 3 };

static pthread_barrier_t ready, go, done;
static int rounds = 1, sizes = 5;

static struct worker {
	pthread_t thread;
	int number, tid;
	size_t blocks, bytes, live, size[SIZES_MAX], count[SIZES_MAX];
	void *stay[STAY];
} workers[THREADS_MAX];

__attribute__((noinline)) static void *take(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return memset(block, 1, size);
}

/* Sizes that are 16 bytes apart at least, so that each has a list of its own. */
static void fill(struct worker *self)
{
	void *blocks[MOST];

	for (int i = 0; i < sizes; i++) {
		size_t size = (size_t)(24 + 16 * ((self->number + 11 * i) % 60));

		self->count[i] = (size_t)((self->number + i) % MOST + 1);
		for (size_t k = 0; k < self->count[i]; k++)
			blocks[k] = take(size);
		self->size[i] = malloc_usable_size(blocks[0]) + HEAD;
		for (size_t k = 0; k < self->count[i]; k++)
			free(blocks[k]);
	}
}

static void *work(void *argument)
{
	struct worker *self = argument;

	self->tid = gettid();
	free(take(2000)); /* the arena is there now, and nothing is cached */
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	for (int i = 0; i < STAY; i++) {
		self->stay[i] = take((size_t)(2000 + 100 * (self->number % 10)));
		self->live += malloc_usable_size(self->stay[i]) + HEAD;
	}
	for (int i = 0; i < rounds; i++)
		fill(self);
	for (int i = 0; i < sizes; i++) {
		self->blocks += self->count[i];
		self->bytes += self->count[i] * self->size[i];
	}
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	size_t before, live = 0;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	sizes = argc > 3 ? atoi(argv[3]) : 5;
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
	before = mallinfo2().uordblks;
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&done);
	before = mallinfo2().uordblks - before;
	for (int i = 0; i < count; i++) {
		const struct worker *worker = &workers[i];

		live += worker->live;
		dprintf(1, "thread %d %zu %zu\n", worker->tid, worker->blocks, worker->bytes);
		for (int k = 0; k < sizes; k++)
			dprintf(1, "size %d %zu %zu\n", worker->tid, worker->size[k], worker->count[k]);
	}
	dprintf(1, "in_use_not_live %zu\n", before - live);
	return 0;
}
