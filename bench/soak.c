/* SPDX-License-Identifier: MIT
 * A busy program of several threads for long runs: soak SECONDS THREADS CALLS_PER_SECOND
 * Blocks of many sizes and stacks live and die, a bounded number at a time, and short threads come and go. Each second it
 * prints "second calls cpu_ns": since its start, of all threads; at its end "made N", the blocks it has asked for itself. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 2000, BURST = 500 };

static uint64_t calls, blocks;
static int finished;
static double rate; /* of each thread, per second */

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Stacks of various depths. */
static __attribute__((noinline)) void *allocate(size_t bytes, unsigned depth)
{
	void *volatile p = depth ? allocate(bytes, depth - 1) : malloc(bytes);

	return p;
}

static void burst(void **slots, uint32_t *state)
{
	for (int i = 0; i < BURST; i++) {
		void **slot = &slots[next(state) % SLOTS];
		unsigned depth = next(state) % 12;

		free(*slot);
		*slot = allocate(16 + next(state) % (next(state) % 50 ? 500 : 50000), depth);
	}
	__atomic_fetch_add(&calls, 2 * BURST, __ATOMIC_RELAXED);
	__atomic_fetch_add(&blocks, BURST, __ATOMIC_RELAXED);
}

static void *brief(void *unused)
{
	(void)unused;
	free(malloc(100));
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *work(void *seed)
{
	void **slots = calloc(SLOTS, sizeof *slots);
	uint32_t state = (uint32_t)(uintptr_t)seed;
	uint64_t start = ns_of(CLOCK_MONOTONIC), done = 0;

	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED); /* slots */
	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		double ahead = (double)done / rate - (double)(ns_of(CLOCK_MONOTONIC) - start) / 1e9;

		if (ahead > 0)
			nanosleep(&(struct timespec){0, (long)(ahead < 0.5 ? ahead * 1e9 : 5e8)}, NULL);
		burst(slots, &state);
		done += 2 * BURST;
		if (done % (200 * BURST) == 0) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, brief, NULL) == 0)
				pthread_join(thread, NULL);
		}
	}
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
	free(slots);
	return NULL;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, count = argc > 2 ? atoi(argv[2]) : 4;
	pthread_t threads[64];

	rate = (argc > 3 ? atof(argv[3]) : 400000) / count;
	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (int second = 1; second <= seconds; second++) {
		nanosleep(&(struct timespec){1, 0}, NULL);
		printf("%d %llu %llu\n", second, (unsigned long long)__atomic_load_n(&calls, __ATOMIC_RELAXED),
		       (unsigned long long)ns_of(CLOCK_PROCESS_CPUTIME_ID));
		fflush(stdout);
	}
	__atomic_store_n(&finished, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("made %llu\n", (unsigned long long)blocks);
	return 0;
}
