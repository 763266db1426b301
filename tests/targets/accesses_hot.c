/* SPDX-License-Identifier: MIT
 * Accesses a few chunks very often, and others now and then, for a second of CPU time or more: `heapwise run --access
 * adaptive` must estimate the sums and see the last accesses. Prints "size reads writes" of each, and
 * "late SIZE" for a chunk that was hot at first and accessed again just before the end. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ROUNDS: a slow machine does so few in a second that it is chance which of them are counted. */
enum { SMALL = 24, MIDDLE = 3000, LARGE = 400000, ROUNDS = 500 };

static long reads[3], writes[3];
static volatile int *chunk[3];
/* clang 19 makes a static array of what only one pointer ever leads to, if it sees that this is malloc. */
static void *(*volatile allocate)(size_t) = malloc;

static void sweep(int number, int bytes)
{
	int count = bytes / 4;

	for (int i = 0; i < count; i++) {
		if (i % 3 == 0) {
			chunk[number][i] = i;
			writes[number]++;
		} else {
			(void)chunk[number][i];
			reads[number]++;
		}
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* a busy machine must not make it do less */
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
	static const int sizes[3] = {SMALL, MIDDLE, LARGE};
	volatile char *late = malloc(555);
	double start = seconds();
	int rounds = 0;

	for (int i = 0; i < 3; i++)
		chunk[i] = allocate((size_t)sizes[i]);
	for (int i = 0; i < 100000; i++)
		late[i % 555] = 1;
	do {
		for (int i = 0; i < 3000; i++)
			sweep(0, SMALL);
		for (int i = 0; i < 30; i++)
			sweep(1, MIDDLE);
		sweep(2, LARGE);
	} while (++rounds < ROUNDS || seconds() - start < 1);
	late[7] = 1;
	for (int i = 0; i < 3; i++)
		printf("%d %ld %ld\n", sizes[i], reads[i], writes[i]);
	return 0;
}
