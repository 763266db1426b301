/* SPDX-License-Identifier: MIT
 * huge_arenas THREADS MS   threads that have little each, in an arena of its own, for MS milliseconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linger.h"

enum { THREADS_MAX = 256, BYTES = 1000 };

static pthread_barrier_t ready;

static void *work(void *argument)
{
	char *block = malloc(BYTES);

	if (!block)
		abort();
	memset(block, 1, BYTES);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 30;
	unsigned long pages = 0;
	pthread_t thread;
	FILE *file;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, work, NULL))
			return 1;
	pthread_barrier_wait(&ready);
	linger(argc > 2 ? (unsigned)atoi(argv[2]) : 1000);
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		return 1;
	fclose(file);
	printf("rss %lu\n", pages * (unsigned long)sysconf(_SC_PAGESIZE));
	return 0;
}
