/* SPDX-License-Identifier: MIT
 * burst [MS [huge|disabled]]   allocates 78 MiB in small blocks, rests, frees them but for some that lie far apart, and goes on for MS
 * (default 1000) milliseconds with little that is live and nearly all pages that it ever had. Then it frees the rest and
 * prints what was live and resident meanwhile. The rest is for whoever looks at new heights only: there all is live.
 * huge: it gives all free pages back, and then the kernel makes huge pages of the heap; disabled: unless it was told not to. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "linger.h"

enum { BLOCKS = 78 << 10, BLOCK_BYTES = 1000, KEEP_EVERY = 50 };

static char *blocks[BLOCKS];

static unsigned long resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* As the kernel does by itself, sooner or later. */
static void make_huge(void)
{
	uintptr_t start = (uintptr_t)blocks[KEEP_EVERY - 1] & ~(uintptr_t)4095, end = (uintptr_t)sbrk(0) & ~(uintptr_t)4095;

	malloc_trim(0);
	printf("trimmed %lu\n", resident_bytes());
	madvise((void *)start, end - start, 25 /* MADV_COLLAPSE; not its last part */);
}

int main(int argc, char **argv)
{
	unsigned long live = 0;

	if (argc > 2 && strcmp(argv[2], "disabled") == 0)
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	free(malloc(BLOCK_BYTES)); /* since glibc 2.42 this makes the thread's cache, which would lie behind all else */
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		if (!blocks[i])
			return 1;
		memset(blocks[i], i, BLOCK_BYTES);
	}
	usleep(600000);
	for (int i = 0; i < BLOCKS; i++) {
		if (i % KEEP_EVERY == KEEP_EVERY - 1) {
			live += BLOCK_BYTES;
			continue;
		}
		free(blocks[i]);
		blocks[i] = NULL;
	}
	if (argc > 2)
		make_huge();
	linger(argc > 1 ? (unsigned)atoi(argv[1]) : 1000);
	printf("live %lu\nrss %lu\n", live, resident_bytes());
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
