/* SPDX-License-Identifier: MIT
 * Uses include/heapwise/heapwise.h and prints the state it sees; tests/run/api.sh compares. The same
 * binary runs without Heapwise, where every call does nothing. */
#include <heapwise/heapwise.h>
#include <stdio.h>
#include <stdlib.h>

/* Sizes are told apart in the trace by their last digits. */
static void *block(size_t size)
{
	void *p = malloc(size);

	if (!p)
		exit(1);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

int main(void)
{
	int states[4];
	void *before, *paused, *after;

	states[0] = heapwise_state();
	before = block(10001);
	heapwise_mark(42);
	heapwise_pause();
	states[1] = heapwise_state();
	paused = block(10002);
	free(before); /* its end is recorded even now */
	heapwise_resume();
	free(paused); /* was never seen */
	after = block(10003);
	heapwise_snapshot();
	states[2] = heapwise_state();
	free(after);
	heapwise_stop();
	states[3] = heapwise_state();
	free(block(10004));
	printf("%d %d %d %d\n", states[0], states[1], states[2], states[3]);
	return 0;
}
