/* SPDX-License-Identifier: MIT
 * threads COUNT PAIRS: COUNT threads that each allocate PAIRS blocks. Seven of eight blocks are freed by
 * the thread that made them, the eighth is left in a mailbox where any thread may find and free it.
 * Runs as a benchmark target: how the threads interleave differs from run to run, the number of events does
 * not, since each block is freed once, by whoever takes it out of its place. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, LIVE = 256, MAILBOX = 1024, DEPTH = 8 };

static void *mailbox[MAILBOX]; /* exchanged by all threads */

struct worker {
	pthread_t thread;
	uint64_t random;
	long pairs;
	void *live[LIVE];
};

#define NOINLINE __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static uint32_t worker_random(struct worker *self)
{
	self->random = self->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(self->random >> 33);
}

static NOINLINE void *request_make(struct worker *self)
{
	void *block = malloc(16 + worker_random(self) % 8 * 24);

	KEEP_FRAME();
	return block;
}

static NOINLINE void *answer_make(struct worker *self)
{
	void *block = calloc(1, 16 + worker_random(self) % 4 * 32);

	KEEP_FRAME();
	return block;
}

static NOINLINE void block_drop(void *block)
{
	free(block);
	KEEP_FRAME();
}

static NOINLINE void worker_exchange(struct worker *self)
{
	uint32_t r = worker_random(self);
	void *block = r & 64 ? request_make(self) : answer_make(self);
	void **place = &self->live[(r >> 8) % LIVE];

	if (r % 8 == 0) {
		block_drop(__atomic_exchange_n(&mailbox[(r >> 8) % MAILBOX], block, __ATOMIC_ACQ_REL));
		return;
	}
	block_drop(*place);
	*place = block;
}

/* A few frames that differ from batch to batch, as a server's handlers would. */
static NOINLINE void handle(struct worker *self, int depth, unsigned path)
{
	if (depth == 0)
		for (int i = 0; i < 16 && self->pairs > 0; i++, self->pairs--)
			worker_exchange(self);
	else if (path & 1)
		handle(self, depth - 1, path >> 1);
	else
		handle(self, depth - 1, path >> 1 | 128);
	KEEP_FRAME();
}

static void *worker_run(void *argument)
{
	struct worker *self = argument;

	while (self->pairs > 0)
		handle(self, DEPTH, worker_random(self) % 64);
	for (int i = 0; i < LIVE; i++)
		free(self->live[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int count = argc > 1 ? atoi(argv[1]) : 2;
	long pairs = argc > 2 ? atol(argv[2]) : 1000000;

	if (count < 1 || count > THREADS_MAX || pairs <= 0) {
		fprintf(stderr, "usage: threads COUNT PAIRS, with 1 to %d threads\n", THREADS_MAX);
		return 2;
	}
	for (int i = 0; i < count; i++) {
		workers[i].random = 1234567 + (uint64_t)i;
		workers[i].pairs = pairs;
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i])) {
			fprintf(stderr, "threads: cannot start thread %d\n", i);
			return 1;
		}
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < MAILBOX; i++)
		free(mailbox[i]);
	return 0;
}
