/* SPDX-License-Identifier: MIT
 * bins [large]   threads that leave known numbers of free blocks in their caches, in fast bins (before glibc 2.43) and in other bins. Prints what is
 * in the caches, and what malloc_info and mallinfo2 say of the rest. large: the caches get blocks of up to 500,000 bytes, as
 * GLIBC_TUNABLES=glibc.malloc.tcache_max=1048576 makes them since 2.42; the last ones are mapped alone, which only 2.43 caches. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc_version.h"

enum { THREADS = 2, RESTS = 3000, REST_BYTES = 5000, FASTS = 20000, FAST_BYTES = 56, SIZES = 20, EACH = 3, HEAD = 8 };

static pthread_barrier_t done;
static bool large;

static struct worker {
	pthread_t thread;
	int tid;
	size_t live, cached, cached_bytes, fast_bytes, rest_bytes;
} workers[THREADS];

__attribute__((noinline)) static void *take(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return memset(block, 1, size);
}

static void stay(struct worker *self, size_t size) { self->live += malloc_usable_size(take(size)) + HEAD; }

static size_t give(void *block)
{
	size_t bytes = malloc_usable_size(block) + HEAD;

	free(block);
	return bytes;
}

/* So many blocks, between others that stay. */
static void **take_many(struct worker *self, int count, size_t size)
{
	static void *room[THREADS][2][FASTS];
	void **blocks = room[self - workers][size < 100];

	for (int i = 0; i < count; i++) {
		blocks[i] = take(size);
		stay(self, size < 100 ? size : 24);
	}
	return blocks;
}

static void cache(struct worker *self, size_t size)
{
	void *blocks[EACH];

	for (int i = 0; i < EACH; i++)
		blocks[i] = take(size);
	for (int i = 0; i < EACH; i++)
		self->cached_bytes += give(blocks[i]);
	self->cached += EACH;
}

static void cache_large(struct worker *self)
{
	cache(self, 1500);
	cache(self, 2500);
	cache(self, 3000); /* a bin with two sizes, and the smaller one is first */
	cache(self, 20000);
	cache(self, 100000);
	if (libc_version() >= 243)
		cache(self, 500000);
}

static void leave(struct worker *self)
{
	void **rests = take_many(self, RESTS, REST_BYTES), **fasts = take_many(self, FASTS, FAST_BYTES);
	int most = libc_cache_most();

	for (int i = 0; i < SIZES; i++)
		cache(self, (size_t)(200 + 32 * i));
	for (int i = 0; i < RESTS; i++)
		self->rest_bytes += give(rests[i]);
	for (int i = 0; i < FASTS; i++) {
		size_t bytes = give(fasts[i]);

		if (i < most) {
			self->cached++;
			self->cached_bytes += bytes;
		} else {
			self->fast_bytes += bytes;
		}
	}
}

static void *work(void *argument)
{
	struct worker *self = argument;

	self->tid = gettid();
	give(take(24)); /* the arena and the cache are there now */
	stay(self, 24);
	if (large)
		cache_large(self);
	else
		leave(self);
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	struct worker all = {0};
	struct mallinfo2 info;

	large = argc > 1 && !strcmp(argv[1], "large");
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* to print allocates nothing, which would empty the fast bins */
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	pthread_barrier_wait(&done);
	for (int i = 0; i < THREADS; i++) {
		const struct worker *one = &workers[i];

		printf("thread %d %zu %zu\n", one->tid, one->cached, one->cached_bytes);
		all.live += one->live;
		all.cached_bytes += one->cached_bytes;
		all.fast_bytes += one->fast_bytes;
		all.rest_bytes += one->rest_bytes;
	}
	info = mallinfo2();
	printf("version %d\nlive %zu\ncached %zu\nfast %zu\nrest %zu\n", libc_version(), all.live, all.cached_bytes,
	       libc_version() < 243 ? all.fast_bytes : 0, all.rest_bytes + (libc_version() < 243 ? 0 : all.fast_bytes));
	printf("uordblks %zu\nfordblks %zu\nfsmblks %zu\nhblkhd %zu\n", info.uordblks, info.fordblks, info.fsmblks, info.hblkhd);
	malloc_info(0, stdout);
	fflush(stdout);
	_exit(0);
}
