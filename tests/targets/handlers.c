/* SPDX-License-Identifier: MIT
 * Allocation in signal handlers that interrupt allocation: legal here, because libbump.so serves,
 * an allocator that may be interrupted anywhere. The recorder's hooks are entered inside of hooks.
 * Every completed call is counted; no event may be lost without being told. Usage: handlers CALLS INTERVAL_US */
#define _GNU_SOURCE
#include "expect.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile uint64_t main_calls, handler_calls;

static void touch(size_t size, volatile uint64_t *calls)
{
	void *volatile memory = malloc(size);

	expect_true(memory != NULL, "malloc failed");
	free(memory);
	*calls = *calls + 1;
}

static void on_timer(int signal)
{
	(void)signal;
	for (int i = 0; i < 3; i++)
		touch(64 + 5, &handler_calls);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	long interval_us = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
	struct itimerval timer = {{0, interval_us}, {0, interval_us}};

	expect_begin();
	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (handler_calls < wanted)
		touch(32 + 5, &main_calls);
	timer = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &timer, NULL);
	expect_total("allocations", main_calls + handler_calls);
	expect_total("frees", main_calls + handler_calls);
	expect_total("bytes", main_calls * (32 + 5) + handler_calls * (64 + 5));
	expect_end();
	return 0;
}
