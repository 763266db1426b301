/* SPDX-License-Identifier: MIT
 * A burst of blocks, among which a few stay: one after every so many pages. The burst is freed,
 * and the pages stay because of the few. With a pool, those few lie in a block of their own.
 *
 *	comb MEBIBYTES PAGES THREADS SIZE [plain|pool [released]]
 *
 * Prints "resident KIBIBYTES" after the burst, from the kernel; with "released" after the allocator
 * was made to give back all that it can. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linger.h"

enum { PAGE = 4096, BURST = 1000 };

static size_t pages, every, kept_bytes;
static int pooled, released;
static pthread_barrier_t filled, done;

static void *burst_block(void) { return memset(malloc(BURST), 1, BURST); }

static void *kept_block(char **pool)
{
	char *block = *pool;

	if (!pooled)
		return memset(malloc(kept_bytes), 2, kept_bytes);
	*pool += kept_bytes;
	return memset(block, 2, kept_bytes);
}

static void call(const char *name)
{
	void (*function)(void);

	*(void **)&function = dlsym(RTLD_DEFAULT, name);
	if (function)
		function();
}

static void tell_jemalloc(const char *name)
{
	int (*control)(const char *, void *, size_t *, void *, size_t);

	*(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
	if (control)
		control(name, NULL, NULL, NULL, 0);
}

/* Caches of a thread are the thread's to empty. */
static void release(void)
{
	void (*collect)(int), (*trim)(size_t);

	tell_jemalloc("thread.tcache.flush");
	tell_jemalloc("arena.4096.purge"); /* of all arenas */
	call("MallocExtension_MarkThreadIdle");
	call("MallocExtension_ReleaseFreeMemory");
	*(void **)&collect = dlsym(RTLD_DEFAULT, "mi_collect");
	if (collect)
		collect(1);
	*(void **)&trim = dlsym(RTLD_DEFAULT, "malloc_trim");
	if (trim)
		trim(0);
}

static void *comb(void *unused)
{
	size_t count = pages * (PAGE / BURST), kept = 0;
	char **burst = malloc(count * sizeof *burst), **stays = malloc((pages + 1) * sizeof *stays);
	char *pool = pooled ? malloc((pages / every + 1) * kept_bytes) : NULL;

	free(malloc(BURST)); /* since glibc 2.42 this makes the thread's cache, which would lie behind the burst */
	for (size_t i = 0; i < count; i++) {
		burst[i] = burst_block();
		if (i % (every * (PAGE / BURST)) == 0)
			stays[kept++] = kept_block(&pool);
	}
	pthread_barrier_wait(&filled); /* no thread has what another one has freed */
	for (size_t i = 0; i < count; i++)
		free(burst[i]);
	free(burst);
	if (released)
		release();
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&done);
	(void)unused;
	return stays;
}

static long resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kibibytes = 0;

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Rss: %ld", &kibibytes) == 1)
			break;
	if (file)
		fclose(file);
	return kibibytes;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
	pthread_t *ids = malloc((threads + 1) * sizeof *ids);

	if (argc < 5)
		return 2;
	every = strtoul(argv[2], NULL, 10);
	pages = strtoul(argv[1], NULL, 10) * 256 / (threads ? threads : 1);
	kept_bytes = strtoul(argv[4], NULL, 10);
	pooled = argc > 5 && strcmp(argv[5], "pool") == 0;
	released = argc > 6;
	pthread_barrier_init(&filled, NULL, (unsigned)(threads ? threads : 1));
	pthread_barrier_init(&done, NULL, (unsigned)(threads ? threads : 1) + 1);
	for (size_t i = 0; i < (threads ? threads : 1); i++)
		pthread_create(&ids[i], NULL, comb, NULL);
	pthread_barrier_wait(&done);
	if (released)
		release();
	linger(500);
	printf("resident %ld\n", resident());
	fflush(stdout);
	_exit(0);
}
