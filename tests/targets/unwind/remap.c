/* SPDX-License-Identifier: MIT
 * Coroutine stacks that become inaccessible and are mapped again at the same place, but smaller and shifted by
 * 16 bytes a time: some frame of the new stack gets the address and the code of a frame that the
 * recorder remembers, while the memory of the remembered outer frames is gone. Whoever reads a
 * remembered slot before all inner ones were found unchanged crashes here. */
#define _GNU_SOURCE
#include "stacks.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { LARGE = 256 * 1024, SMALL = 64 * 1024, FRAMES = 400, ROUNDS = 320 };

static ucontext_t scheduler, coroutine;

static NOINLINE int descend(int depth)
{
	volatile char room[512];
	int sum = 0;

	room[depth % 512] = 1;
	if (depth > 0)
		sum = descend(depth - 1);
	else
		for (int i = 0; i < 3; i++)
			stacks_touch(64);
	stacks_barrier();
	return sum + room[depth % 512];
}

static void body(int depth) { descend(depth); }

static void run_on(char *stack, size_t bytes, int depth)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = bytes;
	coroutine.uc_link = &scheduler;
	makecontext(&coroutine, (void (*)(void))body, 1, depth);
	swapcontext(&scheduler, &coroutine);
}

int main(void)
{
	char *place = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return 1;
	for (int round = 0; round < stacks_rounds(ROUNDS); round++) {
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

		mmap(place, LARGE, PROT_READ | PROT_WRITE, flags, -1, 0);
		/* Deep enough that its inner frames lie where the small stack will be. */
		run_on(place, LARGE, FRAMES);
		/* Not munmap: nobody else may get the place before the next line does. */
		mmap(place, LARGE, PROT_NONE, flags, -1, 0);
		mmap(place, SMALL, PROT_READ | PROT_WRITE, flags, -1, 0);
		run_on(place, SMALL - 16 * (size_t)(round % 64), 20 + round % 5);
		mmap(place, SMALL, PROT_NONE, flags, -1, 0);
	}
	return stacks_done();
}
