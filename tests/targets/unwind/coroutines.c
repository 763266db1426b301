/* SPDX-License-Identifier: MIT
 * ucontext coroutines that allocate at every depth and switch in between, so that consecutive
 * stacks of one thread have nothing in common, or only look as if they had. */
#include "stacks.h"

#include <ucontext.h>

enum { COROUTINES = 16, STACK_BYTES = 64 * 1024, SWITCHES = 4000 };

static ucontext_t scheduler, contexts[COROUTINES];
static char stacks[COROUTINES][STACK_BYTES] __attribute__((aligned(16)));
static int current;

static NOINLINE void yield_now(void) { swapcontext(&contexts[current], &scheduler); }

static NOINLINE int descend(int depth, int turn)
{
	int sum = 0;

	stacks_touch(32 + (size_t)depth);
	if ((depth + turn) % 3 == 0)
		yield_now();
	if (depth > 0)
		sum = descend(depth - 1, turn);
	stacks_touch(33 + (size_t)depth);
	stacks_barrier();
	return sum + depth;
}

static void body(int number)
{
	for (int turn = 0;; turn++)
		descend(3 + (number + turn) % 15, turn);
}

int main(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &scheduler;
		makecontext(&contexts[i], (void (*)(void))body, 1, i);
	}
	for (int i = 0; i < stacks_rounds(SWITCHES); i++) {
		/* Mostly round robin, now and then the same one again. */
		current = stacks_next() % 5 ? i % COROUTINES : current;
		swapcontext(&scheduler, &contexts[current]);
	}
	return stacks_done();
}
