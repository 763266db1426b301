/* SPDX-License-Identifier: MIT
 * calls DEPTH ROUNDS: functions that call themselves twice, down to DEPTH; the innermost allocate and free. Prints the seconds of CPU
 * that it took. A target for the measurement of stacks: a short program between the events, and never the same stack twice running. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) void leaf(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}

static __attribute__((noinline)) void descend(int depth)
{
	if (depth == 0) {
		leaf(32);
	} else {
		descend(depth - 1);
		__asm__ volatile("" : : : "memory");
		descend(depth - 1);
	}
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	struct timespec used;
	int depth = argc > 1 ? atoi(argv[1]) : 12, rounds = argc > 2 ? atoi(argv[2]) : 100;

	for (int i = 0; i < rounds; i++)
		descend(depth);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%.6f\n", (double)used.tv_sec + (double)used.tv_nsec / 1e9);
	return 0;
}
