/* SPDX-License-Identifier: MIT
 * longjmp over many frames, and siglongjmp out of signal handlers: frames vanish without return. */
#define _GNU_SOURCE
#include "stacks.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf landing;
static sigjmp_buf signal_landing;

/* Does not return for any value that it is given, which the compiler need not know. */
static NOINLINE void land(int value)
{
	if (value)
		longjmp(landing, value);
	stacks_barrier();
}

static NOINLINE void fall(int depth, int stop)
{
	stacks_touch(40);
	if (depth < stop)
		fall(depth + 1, stop);
	else
		land(depth + 1);
	stacks_touch(41);
}

static NOINLINE void jump_nested(int outer)
{
	jmp_buf saved;

	__builtin_memcpy(&saved, &landing, sizeof saved);
	if (!setjmp(landing))
		fall(0, 10 + outer);
	stacks_touch(50);
	__builtin_memcpy(&landing, &saved, sizeof saved);
}

static void on_signal(int signal)
{
	(void)signal;
	stacks_touch(60);
	siglongjmp(signal_landing, 1);
}

static NOINLINE void raise_at(int depth)
{
	if (depth > 0)
		raise_at(depth - 1);
	else
		raise(SIGUSR1);
	stacks_barrier();
}

int main(void)
{
	stacks_need_handlers();
	signal(SIGUSR1, on_signal);
	for (volatile int i = 0; i < stacks_rounds(100); i++) {
		if (!setjmp(landing))
			fall(0, i);
		stacks_touch(42);
		if (!setjmp(landing)) {
			jump_nested(i % 30);
			fall(0, 3);
		}
		if (!sigsetjmp(signal_landing, 1))
			raise_at(i);
		stacks_touch(43);
	}
	return stacks_done();
}
