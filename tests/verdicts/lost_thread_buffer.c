// SPDX-License-Identifier: MIT
// verdict: kind=lost function=worker_buffer bytes=13107200 chunks=400
// Short-lived threads, each with a buffer of its own by pthread_setspecific. The key has no destructor: each buffer is lost with its
// thread.
#include <pthread.h>

#include "noise.h"

enum { ROUNDS = 100, THREADS = 4, BUFFER = 32768 };

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned total;

APART static char *worker_buffer(void)
{
	char *buffer = pthread_getspecific(key);

	if (!buffer) {
		buffer = malloc(BUFFER);
		memset(buffer, 0, BUFFER);
		pthread_setspecific(key, buffer);
	}
	return buffer;
}

static unsigned format_rows(unsigned first)
{
	unsigned length = 0;

	for (unsigned i = 0; i < 200; i++) {
		char *buffer = worker_buffer();

		length += (unsigned)snprintf(buffer, BUFFER, "row %u: %u", first + i, i * i);
	}
	return length;
}

static void *worker(void *argument)
{
	unsigned *first = argument, length = format_rows(*first);

	pthread_mutex_lock(&lock);
	total += length;
	for (unsigned i = 0; i < 20; i++)
		noise_turn(*first + i);
	pthread_mutex_unlock(&lock);
	free(first);
	return NULL;
}

static void round_of_threads(unsigned round)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		unsigned *first = malloc(sizeof *first);

		*first = round * 1000 + i;
		pthread_create(&threads[i], NULL, worker, first);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	noise_start();
	pthread_key_create(&key, NULL); /* the flaw: free was meant */
	for (unsigned round = 0; round < ROUNDS; round++)
		round_of_threads(round);
	printf("%u\n", total);
	noise_end();
	return 0;
}
