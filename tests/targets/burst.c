/* SPDX-License-Identifier: MIT
 * burst [MS]   allocates 78 MiB in small blocks, rests, frees them but for some that lie far apart, and goes on for MS
 * (default 1000) milliseconds with little that is live and nearly all pages that it ever had. Then it frees the rest and
 * prints what was live and resident meanwhile. The rest is for whoever looks at new heights only: there all is live. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	unsigned long live = 0;

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
	usleep((useconds_t)(argc > 1 ? atoi(argv[1]) : 1000) * 1000);
	printf("live %lu\nrss %lu\n", live, resident_bytes());
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return 0;
}
