/* SPDX-License-Identifier: MIT
 * One of the two libraries of reuse.c: the same function with frames of another shape. */
#include <stddef.h>

void library_visit(int depth, void (*touch)(size_t));

static __attribute__((noinline)) int inner(int depth, void (*touch)(size_t), long a, long b)
{
	volatile char room[1800];
	long c = a * 3 + depth, d = b * 5 - depth, e = a ^ b;

	room[depth % 64] = 1;
	touch(120);
	touch(121 + (size_t)room[depth % 64]);
	if (depth > 0)
		c += inner(depth - 1, touch, c, d);
	touch(123);
	return (int)(c ^ d ^ e);
}

void library_visit(int depth, void (*touch)(size_t))
{
	touch(124);
	if (inner(depth, touch, depth, 7) == 4711)
		touch(125);
	touch(126);
}
