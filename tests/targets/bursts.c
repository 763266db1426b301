/* SPDX-License-Identifier: MIT
 * bursts MS THREADS EVERY [turns]   allocates 78 MiB in small blocks, rests, frees them but for each EVERYth, and goes on for MS
 * milliseconds with little that is live and nearly all pages that it ever had. Then it prints what was live and resident. Each thread has
 * a part of the blocks, all at once or, with turns, one after the other. The rest is for whoever looks at new heights only. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linger.h"

enum { BLOCKS = 78 << 10, BLOCK_BYTES = 1000, THREADS_MAX = 64 };

static char *blocks[BLOCKS];
static long stay_ms, threads, every;
static unsigned long live;
static pthread_barrier_t meet;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static unsigned long resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static void fill(long from, long to)
{
	for (long i = from; i < to; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		if (!blocks[i])
			exit(1);
		memset(blocks[i], (int)i, BLOCK_BYTES);
	}
}

static void drop(long from, long to)
{
	for (long i = from; i < to; i++) {
		if (i % every == every - 1) {
			__atomic_add_fetch(&live, BLOCK_BYTES, __ATOMIC_RELAXED);
			continue;
		}
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void *burst(void *number)
{
	long from = BLOCKS / threads * (long)number, to = from + BLOCKS / threads;

	pthread_barrier_wait(&meet);
	if (turns)
		pthread_mutex_lock(&turn);
	fill(from, to);
	if (!turns)
		pthread_barrier_wait(&meet);
	usleep(600000 / (turns ? (useconds_t)threads : 1));
	drop(from, to);
	if (turns)
		pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&meet);
	linger((unsigned)stay_ms);
	if (number == NULL)
		printf("live %lu\nrss %lu\n", live, resident_bytes());
	pthread_barrier_wait(&meet);
	for (long i = from; i < to; i++)
		free(blocks[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];

	if (argc < 4)
		return 2;
	stay_ms = atol(argv[1]);
	threads = atol(argv[2]);
	every = atol(argv[3]);
	turns = argc > 4;
	if (threads < 1 || threads > THREADS_MAX || every < 1)
		return 2;
	pthread_barrier_init(&meet, NULL, (unsigned)threads);
	for (long i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, burst, (void *)i);
	burst(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
