/* SPDX-License-Identifier: MIT
 * Preloaded: signal SIGRTMIN + 5 calls malloc_trim, in a program that waits outside the allocator. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>

static void trim(int number)
{
	int kept = errno;

	(void)number;
	malloc_trim(0);
	errno = kept;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction action = {.sa_handler = trim, .sa_flags = SA_RESTART};

	sigaction(SIGRTMIN + 5, &action, NULL);
}
