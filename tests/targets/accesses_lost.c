/* SPDX-License-Identifier: MIT
 * Two large blocks, and two small ones, that are used until they are hot for many epochs; of each size one is lost then. */
#include <stdlib.h>
#include <time.h>

enum { LARGE = 1 << 20, SMALL = 2000, MILLISECONDS = 60 };

static unsigned char *volatile kept[2];
static void *(*volatile allocate)(size_t) = malloc; /* clang 19 might use a static array */

static long long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static __attribute__((noinline)) void use(volatile unsigned char *block, int bytes)
{
	long long end = milliseconds() + MILLISECONDS;

	while (milliseconds() < end)
		for (int i = 0; i < bytes; i += 8)
			block[i]++;
}

static __attribute__((noinline)) void use_all(void)
{
	kept[0] = allocate(LARGE);
	kept[1] = allocate(SMALL);
	use(kept[0], LARGE);
	use(kept[1], SMALL);
	use(allocate(SMALL), SMALL);
	use(allocate(LARGE), LARGE);
}

/* What has pointers on the stack is overwritten. */
static __attribute__((noinline)) void forget(void)
{
	volatile char stack[1 << 16];

	for (unsigned i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

int main(void)
{
	use_all();
	forget();
	return 0;
}
