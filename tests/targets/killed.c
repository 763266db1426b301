/* SPDX-License-Identifier: MIT
 * Allocates and frees until it is killed, and counts completed calls in a page of its own that
 * outlives it: the file that is named on its command line. Usage: killed COUNTERS THREADS
 * Counters, per thread: completed allocations, completed frees, live bytes. */
#define _GNU_SOURCE
#include "expect.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_THREADS = 8, HELD = 64 };

struct counters {
	_Alignas(64) volatile uint64_t allocations;
	volatile uint64_t frees;
};

static struct counters *counters;

static void *work(void *argument)
{
	struct counters *mine = argument;
	void *held[HELD] = {NULL};

	for (uint64_t i = 0;; i++) {
		void **place = &held[i * 7 % HELD];

		if (*place) {
			free(*place);
			mine->frees = mine->frees + 1;
		}
		*place = malloc(16 * (1 + i % 30) + 5);
		mine->allocations = mine->allocations + 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t thread;

	expect_true(fd >= 0 && threads >= 1 && threads <= MAX_THREADS, "usage: killed FILE THREADS");
	expect_true(ftruncate(fd, sizeof *counters * MAX_THREADS) == 0, "ftruncate failed");
	counters = mmap(NULL, sizeof *counters * MAX_THREADS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect_true(counters != MAP_FAILED, "mmap failed");
	for (unsigned long i = 1; i < threads; i++)
		pthread_create(&thread, NULL, work, &counters[i]);
	work(&counters[0]);
	return 0;
}
