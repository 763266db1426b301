// SPDX-License-Identifier: MIT
// verdict: kind=none
// Three workers with a queue of fixed size: each job is allocated by who asks and freed by who does it, each worker has a small scratch.
#include <pthread.h>

#include "noise.h"

enum { WORKERS = 3, SLOTS = 32, JOBS = 9000 };

struct job {
	unsigned number, length;
	char text[200];
};

static struct job *slots[SLOTS];
static unsigned put_at, take_at, sums[WORKERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

APART static struct job *job_new(unsigned number)
{
	struct job *job = malloc(sizeof *job);

	job->number = number;
	job->length = (unsigned)snprintf(job->text, sizeof job->text, "job %u", number);
	return job;
}

static void put(struct job *job)
{
	pthread_mutex_lock(&lock);
	while (put_at - take_at == SLOTS)
		pthread_cond_wait(&changed, &lock);
	slots[put_at++ % SLOTS] = job;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static struct job *take(void)
{
	struct job *job;

	pthread_mutex_lock(&lock);
	while (put_at == take_at)
		pthread_cond_wait(&changed, &lock);
	job = slots[take_at++ % SLOTS];
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return job;
}

APART static unsigned *scratch_new(void)
{
	return calloc(2000, sizeof(unsigned));
}

static void *worker(void *argument)
{
	unsigned *scratch = scratch_new(), *sum = argument;

	for (;;) {
		struct job *job = take();
		unsigned length = job->length;

		free(job);
		if (!length)
			break;
		for (unsigned i = 0; i < 20000; i++)
			scratch[i % 2000] += length * i;
		*sum += scratch[length];
	}
	free(scratch);
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	noise_start();
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &sums[i]);
	for (unsigned i = 0; i < JOBS; i++) {
		put(job_new(i));
		noise_turn(i);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		struct job *last = job_new(0);

		last->length = 0;
		put(last);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%u\n", sums[0] + sums[1] + sums[2]);
	return 0;
}
