/* SPDX-License-Identifier: MIT
 * Threads that allocate and free each other's blocks through a shared table, as fast as they can.
 * Usage: threads THREADS ROUNDS [GENERATIONS]   each generation's threads end before the next.
 * Sizes are 5 above a multiple of 16, by which they are told from those of libc. */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
#include <stdlib.h>

enum { TABLE = 512, MAX_THREADS = 256 };

static void *table[TABLE];
static unsigned long rounds;
static uint64_t allocations, bytes, frees;

static uint32_t next(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*random >> 33);
}

static void *exchange(void *seed)
{
	uint64_t random = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
	uint64_t my_bytes = 0, my_frees = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		size_t size = 16 * (1 + next(&random) % 40) + 5;
		void *mine = malloc(size), *theirs;

		expect_true(mine != NULL, "malloc failed");
		my_bytes += size;
		theirs = __atomic_exchange_n(&table[next(&random) % TABLE], mine, __ATOMIC_ACQ_REL);
		my_frees += theirs != NULL;
		free(theirs);
	}
	__atomic_fetch_add(&allocations, rounds, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, my_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&frees, my_frees, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
	unsigned long generations = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	pthread_t threads[MAX_THREADS];

	rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	expect_true(count <= MAX_THREADS, "too many threads");
	expect_begin();
	for (uintptr_t g = 0; g < generations; g++) {
		for (uintptr_t i = 0; i < count; i++)
			expect_true(pthread_create(&threads[i], NULL, exchange,
						   (void *)(g * count + i)) == 0,
				    "pthread_create failed");
		for (uintptr_t i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
	}
	expect_total("allocations", allocations);
	expect_total("bytes", bytes);
	expect_total("frees", frees);
	expect_end();
	return 0;
}
