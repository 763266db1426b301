/* SPDX-License-Identifier: MIT
 * Ordinary C: a random walk through functions with small, large, variable and no frames, through
 * pointers, varargs, libc's callbacks and tail calls. */
#include "stacks.h"

#include <alloca.h>
#include <search.h>
#include <stdarg.h>
#include <string.h>

typedef int step(int depth);

static step step_small, step_large, step_alloca, step_varargs, step_sort, step_tail, step_tree,
	step_many_registers;
static step *const steps[] = {step_small, step_large, step_alloca, step_varargs,
			      step_sort, step_tail, step_tree, step_many_registers};

static NOINLINE int walk(int depth)
{
	int sum = 0;

	stacks_touch(16 + stacks_next() % 500);
	if (depth > 0)
		for (uint32_t i = stacks_next() % 3; i > 0; i--)
			sum += steps[stacks_next() % (sizeof steps / sizeof *steps)](depth - 1);
	stacks_barrier();
	return sum + 1;
}

static NOINLINE int step_small(int depth) { return walk(depth) + 1; }

static NOINLINE int step_large(int depth)
{
	volatile char room[5000];

	room[stacks_next() % sizeof room] = 1;
	return walk(depth) + room[0];
}

static NOINLINE int step_alloca(int depth)
{
	size_t size = 16 + stacks_next() % 900;
	char *room = alloca(size);

	memset(room, depth, size);
	return walk(depth) + room[size / 2];
}

static NOINLINE int sum_varargs(int count, ...)
{
	va_list arguments;
	int sum = 0;

	va_start(arguments, count);
	for (int i = 0; i < count; i++)
		sum += va_arg(arguments, int);
	va_end(arguments);
	return sum + walk(sum % 3);
}

static NOINLINE int step_varargs(int depth) { return sum_varargs(5, depth, 1, 2, 3, 4) + 1; }

static int compare_and_touch(const void *a, const void *b)
{
	stacks_touch(40);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int step_sort(int depth)
{
	int values[7] = {5, 3, 9, depth, 1, 8, 2};

	qsort(values, 7, sizeof *values, compare_and_touch);
	return walk(depth) + values[0];
}

static NOINLINE int step_tail(int depth) { return walk(depth); }

static void visit(const void *node, VISIT which, int level)
{
	(void)node, (void)level;
	if (which == leaf || which == postorder)
		stacks_touch(24);
}

static NOINLINE int step_tree(int depth)
{
	static const int keys[] = {4, 2, 6, 1, 3};
	void *root = NULL;

	for (int i = 0; i < 5; i++)
		tsearch(&keys[i], &root, compare_and_touch);
	twalk(root, visit);
	for (int i = 0; i < 5; i++)
		tdelete(&keys[i], &root, compare_and_touch);
	return walk(depth);
}

static NOINLINE int step_many_registers(int depth)
{
	uint64_t a = stacks_next(), b = stacks_next(), c = stacks_next(), d = stacks_next();
	uint64_t e = stacks_next(), f = stacks_next(), g = stacks_next(), h = stacks_next();
	int sum = walk(depth);

	return sum + (int)((a ^ b) + (c ^ d) + (e ^ f) + (g ^ h)) % 3;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < stacks_rounds(400); i++)
		sum += walk(4 + i % 12);
	fprintf(stderr, "walked %d\n", sum);
	return stacks_done();
}
