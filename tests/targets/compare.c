/* SPDX-License-Identifier: MIT
 * Two versions of one program, whose differences are known: built with -DNEW it leaks in another place, has
 * a cache that grew and a list that shrank, recurses deeper, and all of its code lies elsewhere.
 * tests/run/compare.sh has the numbers, by function. */
#include <stdlib.h>

#include "heapwise/heapwise.h"

#ifdef NEW
enum { GROWN = 25, SHRUNK = 20, DEPTH = 5, QUICK = 50 };
#else
enum { GROWN = 10, SHRUNK = 50, DEPTH = 3, QUICK = 5 };
#endif
enum { STEADY = 100, MOST = 100 };

#define APART __attribute__((noinline, noclone))

static void *volatile held[MOST];
static void *volatile hidden;

#ifdef NEW
/* What comes after it has other addresses than before. */
__attribute__((used, noinline)) static int more_code(int x)
{
	for (volatile int i = 0; i < 100; i++)
		x = x * 31 + i * 17 - (x >> 3);
	return x;
}
#endif

/* Inlined with -O2, called with -O0: the stack has its name in both. */
static inline __attribute__((always_inline)) void *make_item(size_t size)
{
	void *item = malloc(size);

	hidden = item;
	return item;
}

APART static void steady(void)
{
	for (int i = 0; i < STEADY; i++)
		held[i] = make_item(32);
	for (int i = 0; i < STEADY; i++)
		free(held[i]);
	hidden = NULL;
}

#ifdef NEW
APART static void added_leak(void)
{
	for (int i = 0; i < 7; i++)
		hidden = malloc(512);
	hidden = NULL;
}
#else
APART static void removed_leak(void)
{
	for (int i = 0; i < 3; i++)
		hidden = malloc(1000);
	hidden = NULL;
}
#endif

APART static void grown(void)
{
	for (int i = 0; i < GROWN; i++)
		held[i] = make_item(100);
	heapwise_mark_named("grown");
	heapwise_snapshot();
	for (int i = 0; i < GROWN; i++)
		free(held[i]);
	hidden = NULL;
}

APART static void shrunk(void)
{
	for (int i = 0; i < SHRUNK; i++)
		held[i] = malloc(64);
	for (int i = 0; i < SHRUNK; i++)
		free(held[i]);
	hidden = NULL;
}

APART static void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	else
		hidden = malloc(10);
	held[0] = hidden; /* no tail call */
}

APART static void quick(void)
{
	for (int i = 0; i < QUICK; i++) {
		hidden = malloc(16);
		free(hidden);
	}
	hidden = NULL;
}

int main(void)
{
	heapwise_mark_named("begin");
	steady();
#ifdef NEW
	added_leak();
#else
	removed_leak();
#endif
	grown();
	shrunk();
	deeper(DEPTH);
	free(hidden);
	hidden = NULL;
	quick();
	heapwise_mark_named("finish");
	return 0;
}
