/* SPDX-License-Identifier: MIT
 * For programs whose stacks the checking recorder compares with libgcc's, allocation by allocation.
 * They count what they allocate and say at the end how many stacks there must have been at least. */
#ifndef UNWIND_STACKS_H
#define UNWIND_STACKS_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static uint64_t stacks_count;
static uint64_t stacks_random = 0x9e3779b97f4a7c15u;

static inline uint32_t stacks_next(void)
{
	stacks_random = stacks_random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(stacks_random >> 33);
}

/* How often to do what is worth doing `full` times on a fast machine; emulators ask for less. */
static inline int stacks_rounds(int full) { return getenv("STACKS_LESS") ? full / 8 + 1 : full; }

/* One allocation and one free from here: two stacks. Threads may share the counter. */
static inline void stacks_touch(size_t size)
{
	char *memory = (char *)malloc(size);

	if (!memory)
		abort();
	*(volatile char *)memory = 1;
	__atomic_fetch_add(&stacks_count, 1, __ATOMIC_RELAXED);
	free(memory);
}

/* Keeps a call from becoming a jump, and a loop from being folded. */
static inline void stacks_barrier(void) { __asm__ volatile("" ::: "memory"); }

static volatile int stacks_misaligned;

static inline void stacks_look_at_stack(int number)
{
	(void)number;
	stacks_misaligned = ((uintptr_t)__builtin_frame_address(0) & 15) != 0;
}

/* qemu-user up to 7.2 gives handlers of x86_64 a stack that is not aligned as the ABI says, on which any code may fail that
 * keeps vectors there. Programs with handlers end here then. */
static inline void stacks_need_handlers(void)
{
	signal(SIGUSR1, stacks_look_at_stack);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	if (!stacks_misaligned)
		return;
	fprintf(stderr, "this emulator misaligns the stack of signal handlers\n");
	exit(77);
}

static inline int stacks_done(void)
{
	printf("stacks %llu\n", (unsigned long long)stacks_count);
	return 0;
}

#endif
