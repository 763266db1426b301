/* SPDX-License-Identifier: MIT
 * A program whose _start has no unwind information (arch/CPU/start.S), as those have that are linked with start files of an older C
 * library: stacks end there, and are whole. */
#include "stacks.h"

static NOINLINE void touch_deep(int depth)
{
	stacks_touch(130 + (size_t)depth);
	if (depth > 0)
		touch_deep(depth - 1);
	stacks_barrier();
}

int main(void)
{
	for (int i = 0; i < 60; i++)
		touch_deep(i % 10);
	return stacks_done();
}
