/* SPDX-License-Identifier: MIT
 * A heap whose pointers are known: prints one line for each that `trace dump --facts` must show, by
 * the sizes of the chunks, which are all different. Chunks of other sizes are not its own.
 *
 *	owners            ends
 *	owners wait       says "ready" and waits for its input to end */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TABLE = 1001, /* sizes: what the test knows chunks by */
	NODE = 2001,  /* and the two after it */
	INSIDE = 3001,
	STACKED = 4001, /* in frames: of main, outer and inner */
	STACKED_OUTER = 4101,
	STACKED_INNER = 4201,
	LOCAL = 5001,
	RING = 6001, /* and the one after it */
	MANY = 7001,
	TARGET = 8001,
	THREADED = 9001,
	THREAD_LOCAL = 9101,
};

static struct {
	long before;
	void **table;
} state;
static void **many;
static __thread void *local;
static pthread_barrier_t barrier;

static void *block(size_t size)
{
	void *made = calloc(1, size);

	if (!made)
		abort();
	__asm__ volatile("" : "+r"(made) : : "memory"); /* what is written to it counts */
	return made;
}

/* Points to a block in the middle: as far as any C library knows nobody points to its start. */
static char *inside(void) { return (char *)block(INSIDE) + 136; }

static void lose_ring(void)
{
	void **first = block(RING), **second = block(RING + 1);

	first[2] = second;
	second[3] = first;
}

static void table_fill(void)
{
	void **nodes[3];

	state.table = block(TABLE);
	/* not a loop: of one place they would be elements of one container */
	state.table[0] = nodes[0] = block(NODE);
	state.table[4] = nodes[1] = block(NODE + 1);
	state.table[8] = nodes[2] = block(NODE + 2);
	nodes[0][1] = nodes[1];
	nodes[1][1] = nodes[2];
	nodes[1][2] = nodes[2]; /* twice */
	nodes[2][5] = inside();
	nodes[2][7] = nodes[2]; /* to itself: not told */
}

static void many_fill(void)
{
	void *target = block(TARGET);

	many = block(MANY);
	for (int i = 0; i < 800; i++)
		many[i] = target;
}

static void print_expected(void)
{
	printf("data > %d\n%d 0 > %d 0\n%d 32 > %d 0\n%d 64 > %d 0\n", TABLE, TABLE, NODE, TABLE, NODE + 1, TABLE,
	       NODE + 2);
	printf("%d 8 > %d 0\n%d 8 > %d 0\n%d 16 > %d 0\n%d 40 > %d 136\n", NODE, NODE + 1, NODE + 1, NODE + 2, NODE + 1,
	       NODE + 2, NODE + 2, INSIDE);
	printf("stack > %d\ntls > %d\n%d 16 > %d 0\n%d 24 > %d 0\n", STACKED, LOCAL, RING, RING + 1, RING + 1, RING);
	printf("data > %d\nstack > %d\ntls > %d\n", MANY, THREADED, THREAD_LOCAL);
	printf("main > %d\nouter > %d\ninner > %d\nthread_main > %d\n", STACKED, STACKED_OUTER, STACKED_INNER, THREADED);
	fflush(stdout);
}

static void *thread_main(void *argument)
{
	void *volatile kept = block(THREADED);

	(void)argument;
	local = block(THREAD_LOCAL);
	__asm__ volatile("" : : "r"(&local) : "memory");
	pthread_barrier_wait(&barrier);
	pause();
	return kept;
}

/* Overwrites what calls have left on the stack. */
static __attribute__((noinline)) void stack_clean(void)
{
	volatile char left[16384];

	memset((void *)left, 0, sizeof left);
}

static __attribute__((noinline)) int inner(bool waits)
{
	void *volatile kept = block(STACKED_INNER);
	char byte;

	print_expected();
	stack_clean();
	__asm__ volatile("" : : "r"(&local), "r"(&state), "r"(&many) : "memory");
	if (waits) {
		puts("ready");
		fflush(stdout);
		while (read(0, &byte, 1) > 0) {
		}
	}
	exit(kept == NULL);
}

static __attribute__((noinline)) int outer(bool waits)
{
	void *volatile kept = block(STACKED_OUTER);

	return inner(waits) + (kept == NULL);
}

int main(int argc, char **argv)
{
	void *volatile kept = block(STACKED);
	pthread_t thread;

	local = block(LOCAL);
	table_fill();
	many_fill();
	lose_ring();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_barrier_wait(&barrier);
	return outer(argc > 1 && strcmp(argv[1], "wait") == 0) + (kept == NULL);
}
