/* SPDX-License-Identifier: MIT
 * Frames of 100 KB and of 700 KB, as compilers of languages that keep large values on the stack make them, and one of
 * more than a compiled rule can tell, between ordinary ones. */
#include "stacks.h"

static NOINLINE int next(int depth);

#define LARGE(name, bytes)                                                                         \
	static NOINLINE int name(int depth)                                                        \
	{                                                                                          \
		volatile char room[bytes];                                                         \
                                                                                                   \
		room[0] = room[(bytes) / 2] = room[(bytes)-1] = (char)depth;                       \
		stacks_touch(90 + (size_t)depth);                                                  \
		return next(depth) + room[0] + room[(bytes)-1];                                    \
	}

LARGE(hundred, 100 << 10)
LARGE(hundreds, 700 << 10)
LARGE(thousands, 3 << 20)

static NOINLINE int next(int depth)
{
	int sum = 0;

	stacks_touch(91);
	if (depth == 7)
		sum = thousands(depth - 1);
	else if (depth > 0)
		sum = depth % 3 ? hundred(depth - 1) : hundreds(depth - 1);
	stacks_barrier();
	return sum + 1;
}

int main(void)
{
	for (int i = 0; i < stacks_rounds(400); i++)
		next(i % 9);
	return stacks_done();
}
