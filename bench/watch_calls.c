/* SPDX-License-Identifier: MIT
 * watch_calls malloc|mmap COUNT   the Memcov paper's micro-benchmark (its figures 7 and 8): allocate one page, touch it,
 * resize to two, touch the second, free. Prints ns for each of these, the mean of COUNT, in rounds of 1,000 allocations. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, ROUND = 1000, STEPS = 5 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int maps;

static char *allocate(void)
{
	return maps ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(PAGE);
}

static char *resize(char *p) { return maps ? mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) : realloc(p, 2 * PAGE); }

static void release(char *p)
{
	if (maps)
		munmap(p, 2 * PAGE);
	else
		free(p);
}

static void round_trip(double sums[STEPS])
{
	static char *areas[ROUND];
	double times[STEPS + 1];

	times[0] = now_ns();
	for (int i = 0; i < ROUND; i++)
		areas[i] = allocate();
	times[1] = now_ns();
	for (int i = 0; i < ROUND; i++)
		((volatile char *)areas[i])[0] = 1;
	times[2] = now_ns();
	for (int i = 0; i < ROUND; i++)
		areas[i] = resize(areas[i]);
	times[3] = now_ns();
	for (int i = 0; i < ROUND; i++)
		((volatile char *)areas[i])[PAGE] = 1;
	times[4] = now_ns();
	for (int i = 0; i < ROUND; i++)
		release(areas[i]);
	times[5] = now_ns();
	for (int i = 0; i < STEPS; i++)
		sums[i] += times[i + 1] - times[i];
}

int main(int argc, char **argv)
{
	double sums[STEPS] = {0};
	long rounds = argc > 2 ? atol(argv[2]) / ROUND : 100;

	maps = argc > 1 && strcmp(argv[1], "mmap") == 0;
	round_trip(sums); /* what is done once is not counted */
	memset(sums, 0, sizeof(sums));
	for (long i = 0; i < rounds; i++)
		round_trip(sums);
	for (int i = 0; i < STEPS; i++)
		printf("%.1f%c", sums[i] / (double)(rounds * ROUND), i + 1 < STEPS ? ' ' : '\n');
	return 0;
}
