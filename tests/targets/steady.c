/* SPDX-License-Identifier: MIT
 * steady SECONDS   allocates some 4,000 times a second, as long as that: most is freed soon, some is used again and again, some
 * is kept and never used, and some is lost. A second thread holds a few blocks. For those who watch it: it leaves them
 * time to do so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_MS = 10, EACH = 40, SLOTS = 400, CACHE = 65536, HELD = 64 };

static char *slots[SLOTS], *volatile cache[CACHE];

static __attribute__((noinline)) char *request_new(size_t size) { return malloc(size); }
static __attribute__((noinline)) char *cache_add(size_t size) { return malloc(size); }
static __attribute__((noinline)) char *session_lose(size_t size) { return malloc(size); }
static __attribute__((noinline)) char *buffer_grow(char *buffer, size_t size) { return realloc(buffer, size); }

static __attribute__((noinline)) char *helper_hold(size_t size) { return malloc(size); }

static void *helper(void *data)
{
	char *held[HELD];

	(void)data;
	for (unsigned i = 0; i < HELD; i++)
		held[i] = helper_hold(1000);
	pause();
	return held[HELD - 1];
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void serve_requests(unsigned long round)
{
	for (unsigned long i = 0; i < EACH; i++) {
		unsigned long slot = (round * EACH + i) % SLOTS;

		free(slots[slot]);
		slots[slot] = request_new(32 + slot % 200);
		memset(slots[slot], (int)i, 32);
	}
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	char *buffer = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, helper, NULL) != 0)
		return 1;
	for (unsigned long round = 0; now() < end; round++) {
		serve_requests(round);
		buffer = buffer_grow(buffer, 100 + round % 64 * 64);
		buffer[0]++;
		if (round % 2 == 0)
			cache[round / 2 % CACHE] = cache_add(500);
		if (round % 10 == 0)
			memset(session_lose(300), 1, 300);
		usleep(ROUND_MS * 1000);
	}
	free(buffer);
	printf("%s\n", slots[0] ? "done" : "nothing was done");
	return 0;
}
