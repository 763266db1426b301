/* SPDX-License-Identifier: MIT
 * keeps [kill|grow]   keeps blocks of three call chains, 850 bytes in all. `kill`: and is killed.
 * `grow`: and runs for 1.5 s, in which one point grows and another one does not. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 150, TURN_NS = 10000000 };

static void *volatile kept[6];
static void *volatile grown[TURNS];

__attribute__((noinline)) void keep_one(void);
__attribute__((noinline)) void keep_two(void);
__attribute__((noinline)) void keep_three(void);
__attribute__((noinline)) void keep_growing(int turn);
__attribute__((noinline)) void come_and_go(void);

void keep_one(void) { kept[0] = malloc(50); }

void keep_two(void)
{
	for (volatile int i = 1; i < 3; i++)
		kept[i] = malloc(100);
}

void keep_three(void)
{
	for (volatile int i = 3; i < 6; i++)
		kept[i] = malloc(200);
}

void keep_growing(int turn) { grown[turn] = malloc(2000); }

void come_and_go(void)
{
	void *volatile p = malloc(200000);

	free(p);
}

static void grow(void)
{
	for (int i = 0; i < TURNS; i++) {
		struct timespec turn = { .tv_nsec = TURN_NS };

		keep_growing(i);
		come_and_go();
		nanosleep(&turn, NULL);
	}
}

int main(int argc, char **argv)
{
	keep_one();
	keep_two();
	keep_three();
	if (argc > 1 && strcmp(argv[1], "grow") == 0)
		grow();
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
