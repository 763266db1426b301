/* SPDX-License-Identifier: MIT
 * Hand-written code without unwind information between C frames (arch/CPU/nocfi.S): one function
 * keeps a frame record, one does not. Stacks below may end there, but must not be wrong or crash. */
#include "stacks.h"

void nocfi_with_frame(void (*function)(int), int argument);
void nocfi_without_frame(void (*function)(int), int argument);

static NOINLINE void touch_deep(int depth)
{
	stacks_touch(130 + (size_t)depth);
	if (depth > 0)
		touch_deep(depth - 1);
	stacks_barrier();
}

static void through_both(int depth)
{
	touch_deep(depth);
	nocfi_without_frame(touch_deep, depth);
	touch_deep(1);
}

int main(void)
{
	for (int i = 0; i < 60; i++) {
		nocfi_with_frame(touch_deep, i % 10);
		touch_deep(i % 7);
		nocfi_without_frame(touch_deep, i % 10);
		nocfi_with_frame(through_both, i % 5);
	}
	return stacks_done();
}
