/* SPDX-License-Identifier: MIT
 * Holds chunks of known sizes for known moments; tests/run/owners.sh finds them in the scans.
 *
 *	moments marks     holds one at each of four marks, and frees it at once
 *	moments killed    the same, and kills itself
 *	moments fork      a child does the same
 *	moments many N    makes N marks, one after the other
 *	moments peak      grows, waits for its input to end, shrinks, and ends small
 *	moments looks     makes a mark and a snapshot, with time before and after each
 *	moments wait      holds one, says "ready" and waits for its input to end */
#include <heapwise/heapwise.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 50001, PEAK = 300, PEAK_SIZE = 10007 };

static void *held[PEAK];

static void hold(unsigned place, size_t size)
{
	held[place] = malloc(size);
	if (!held[place])
		abort();
	memset(held[place], 0, size);
}

static void drop(unsigned place)
{
	free(held[place]);
	held[place] = NULL;
}

static void wait_for_input(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
}

/* Sizes SIZE, SIZE + 1 and so on. */
static void marks(void)
{
	hold(0, SIZE);
	heapwise_mark(1);
	drop(0);
	hold(0, SIZE + 1);
	heapwise_mark_named("second");
	drop(0);
	hold(0, SIZE + 2);
	heapwise_phase_begin("third");
	drop(0);
	hold(0, SIZE + 3);
	heapwise_snapshot();
	drop(0);
}

static void peak(void)
{
	for (unsigned i = 0; i < PEAK; i++)
		hold(i, PEAK_SIZE);
	wait_for_input();
	for (unsigned i = 0; i < PEAK; i++)
		drop(i);
	hold(0, SIZE);
}

/* Long enough for a regular look at the memory. */
static void looks(void)
{
	enum { REST_US = 600000 };

	hold(0, 100 * SIZE);
	usleep(REST_US);
	heapwise_mark_named("loaded");
	hold(1, 200 * SIZE);
	usleep(REST_US);
	heapwise_snapshot();
	drop(1);
	usleep(REST_US);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "marks") == 0 || strcmp(what, "killed") == 0)
		marks();
	if (strcmp(what, "killed") == 0)
		raise(SIGKILL);
	if (strcmp(what, "fork") == 0 && fork() == 0) {
		marks();
		return 0;
	}
	if (strcmp(what, "fork") == 0)
		wait(NULL);
	for (long i = argc > 2 ? atol(argv[2]) : 0; i > 0; i--)
		heapwise_mark(7);
	if (strcmp(what, "peak") == 0)
		peak();
	if (strcmp(what, "looks") == 0)
		looks();
	if (strcmp(what, "wait") == 0) {
		hold(0, SIZE);
		wait_for_input();
	}
	return 0;
}
