/* SPDX-License-Identifier: MIT
 * resident [THREADS]   makes memory of each sort, then prints what /proc and the C library say of it just before it
 * ends: "rss N", "uordblks N" (in use by blocks, headers included), "requested N", "untouched N", "mapped N", "stack N". */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 40000, SIZE = 200, BIG = 8 << 20, MAPPED = 6 << 20, DEEP = 1 << 20, THREADS_MAX = 64, PAGE = 4096 };

static char *blocks[BLOCKS];
static pthread_barrier_t ready, over;

static void *sleeper(void *nothing)
{
	volatile char deep[DEEP];

	memset((void *)deep, 1, sizeof deep);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&over);
	return nothing;
}

static unsigned long rss(char *text, size_t room)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kilobytes = 0;

	if (!f)
		exit(1);
	setvbuf(f, text, _IOFBF, room);
	while (fgets(text + room, 200, f))
		if (sscanf(text + room, "Rss: %lu", &kilobytes) == 1)
			break;
	fclose(f);
	return kilobytes * 1024;
}

int main(int argc, char **argv)
{
	static char text[4096 + 256];
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long before, requested = 0;
	char *mapped, *big, *untouched;

	pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&over, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
			return 1;
	}
	pthread_barrier_wait(&ready);
	printf("begins\n"); /* the buffer of stdout is there */
	fflush(stdout);
	before = mallinfo2().uordblks;
	for (int i = 0; i < BLOCKS; i++)
		memset(blocks[i] = malloc(SIZE), 1, SIZE);
	/* free every second block of the first half: holes; all of the last quarter: free pages */
	for (int i = 0; i < BLOCKS / 2; i += 2) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	for (int i = 3 * BLOCKS / 4; i < BLOCKS - 1; i++) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	for (int i = 0; i < BLOCKS; i++)
		requested += blocks[i] ? SIZE : 0;
	big = malloc(BIG);
	memset(big, 1, BIG);
	untouched = malloc(BIG);
	/* beside the block, which the C library has mapped: the kernel makes them one mapping, and which of them is whose is to be seen */
	mapped = untouched ? untouched - (size_t)untouched % PAGE - MAPPED : NULL;
	mapped = mmap(mapped, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED || !untouched)
		return 1;
	memset(mapped, 1, MAPPED);
	printf("rss %lu\n", rss(text, 4096));
	printf("uordblks %lu\n", (unsigned long)mallinfo2().uordblks - before);
	printf("requested %lu\n", requested);
	printf("big %d\nuntouched %d\nmapped %d\nstack %d\n", BIG, BIG, MAPPED, DEEP * threads);
	fflush(stdout);
	_exit(0);
}
