/* SPDX-License-Identifier: MIT
 * Functions that realign their stack: over-aligned locals together with alloca, variable arrays and
 * varargs. On x86_64 gcc keeps the caller's stack pointer in a register of its own (DRAP), and the
 * CFA becomes an expression that reads memory. */
#include "stacks.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

static NOINLINE int align_only(int depth);

static NOINLINE int next(int depth)
{
	int sum = 0;

	stacks_touch(70 + (size_t)depth);
	if (depth > 0)
		sum = align_only(depth - 1);
	stacks_barrier();
	return sum + 1;
}

static NOINLINE int align_varargs(int depth, ...)
{
	_Alignas(128) volatile char room[256];
	va_list arguments;
	int sum = 0;

	va_start(arguments, depth);
	room[va_arg(arguments, int) % 256] = 1;
	sum = next(depth) + room[0];
	va_end(arguments);
	return sum;
}

static NOINLINE int align_alloca(int depth, int a, int b, int c, int d, int e, int f, int on_stack)
{
	_Alignas(64) volatile char room[64];
	size_t size = 32 + stacks_next() % 200;
	char *more = alloca(size);

	memset(more, a, size);
	room[on_stack % 64] = (char)(b + c + d + e + f);
	stacks_touch(size);
	return align_varargs(depth, on_stack) + room[3] + more[size - 1] + on_stack;
}

static NOINLINE int align_only(int depth)
{
	_Alignas(32) volatile char room[96];

	if ((uintptr_t)room % 32)
		abort();
	room[depth % 96] = 1;
	return align_alloca(depth, 1, 2, 3, 4, 5, 6, depth + 7) + room[depth % 96];
}

int main(void)
{
	for (int i = 0; i < stacks_rounds(400); i++)
		align_only(i % 25);
	return stacks_done();
}
