/* SPDX-License-Identifier: MIT
 * memory THREADS CONTEXTS   allocates from about CONTEXTS different call paths in each of THREADS live
 * threads, then prints its resident bytes; tests/run/memory.sh compares runs with and without the
 * recorder. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t done, end;
static unsigned long contexts;

/* Each bit of `path` is one of two call sites: every number is a call path of its own. */
static __attribute__((noinline)) void *descend(unsigned long path, int bits)
{
	void *p;

	if (bits == 0)
		return malloc(64);
	if (path & 1)
		p = descend(path >> 1, bits - 1);
	else
		p = descend(path >> 1, bits - 1);
	__asm__ volatile("" : "+r"(p)); /* no tail calls */
	return p;
}

static void *work(void *number)
{
	(void)number;
	for (unsigned long i = 0; i < contexts; i++)
		free(descend(i, 16));
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&end);
	return NULL;
}

static unsigned long resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	contexts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	pthread_barrier_init(&done, NULL, threads + 1);
	pthread_barrier_init(&end, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
		pthread_detach(thread);
	}
	pthread_barrier_wait(&done);
	printf("%lu\n", resident_bytes());
	pthread_barrier_wait(&end);
	return 0;
}
