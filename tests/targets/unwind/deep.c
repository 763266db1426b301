/* SPDX-License-Identifier: MIT
 * Recursion deeper than the recorder keeps (1,024 frames): stacks are cut, the kept part is right. */
#include "stacks.h"

static NOINLINE int descend(int depth)
{
	int sum = 0;

	if (depth % 97 == 0)
		stacks_touch(80);
	if (depth > 0)
		sum = descend(depth - 1);
	if (depth % 101 == 0)
		stacks_touch(81);
	stacks_barrier();
	return sum + depth % 3;
}

int main(void)
{
	for (int i = 0; i < 6; i++)
		if (descend(2000 - i * 300) == 1)
			return 1;
	return stacks_done();
}
