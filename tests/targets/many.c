/* SPDX-License-Identifier: MIT
 * Many events over many stacks: N allocations of 1 to 3000 bytes at up to 2^10 stacks of two
 * functions that call each other and themselves; all but the last thousand are freed.
 *
 *	many N        prints "allocations A bytes B kept K" */
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 1000, DEPTH = 10 };

#define CALLED __attribute__((noinline))

static void *live[LIVE];
static unsigned long sizes[LIVE], allocations, bytes, kept;
static unsigned long state = 1;
static volatile unsigned alive;

static unsigned long next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void replace(unsigned long place, unsigned long size)
{
	free(live[place]);
	live[place] = malloc(size);
	if (!live[place])
		abort();
	kept += size - sizes[place];
	sizes[place] = size;
	bytes += size;
	allocations++;
}

static void right(unsigned long path, unsigned depth);

static CALLED void left(unsigned long path, unsigned depth)
{
	if (depth == 0)
		replace(path / 7 % LIVE, 1 + path % 3000);
	else if (path >> depth & 1)
		left(path, depth - 1);
	else
		right(path, depth - 1);
	alive++;
}

static CALLED void right(unsigned long path, unsigned depth)
{
	if (depth == 0)
		replace(path / 7 % LIVE, 1 + path % 3000);
	else if (path >> depth & 1)
		right(path, depth - 1);
	else
		left(path, depth - 1);
	alive++;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	while (count--)
		left(next_random() >> 8, DEPTH);
	fprintf(stderr, "allocations %lu bytes %lu kept %lu\n", allocations, bytes, kept);
	return 0;
}
