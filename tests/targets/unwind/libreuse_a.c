/* SPDX-License-Identifier: MIT
 * One of the two libraries of reuse.c: the same function with frames of another shape. */
#include <stddef.h>

void library_visit(int depth, void (*touch)(size_t));

static __attribute__((noinline)) void inner(int depth, void (*touch)(size_t))
{
	volatile char room[64];

	room[depth % 64] = 1;
	touch(110 + (size_t)room[depth % 64]);
	if (depth > 0)
		inner(depth - 1, touch);
	__asm__ volatile("" ::: "memory");
}

void library_visit(int depth, void (*touch)(size_t))
{
	inner(depth, touch);
	touch(112);
}
