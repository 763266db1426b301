/* SPDX-License-Identifier: MIT
 * The injecting build: of the recorder's system calls that can fail, the Nth does. Runs in the
 * target, in tests only.
 * HEAPWISE_INJECT=N:FILE says which; FILE is left with "CALLS" of each process that ends, one per
 * line. */
#ifdef HWR_INJECT

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "target/recorder/state/environment.h"
#include "target/recorder/state/sys.h"

static u64 calls, chosen;
static u32 state; /* 0 nothing is known, 1 being asked, 2 known, 3 nothing is wanted */
static char path[256];

static void read_wish(void)
{
	char wish[300], *rest = wish;

	state = 1;
	if (!hwr_environment("HEAPWISE_INJECT", wish, sizeof wish)) {
		state = 3;
		return;
	}
	chosen = strtoull(wish, &rest, 10);
	snprintf(path, sizeof path, "%s", *rest ? rest + 1 : rest);
	state = 2;
}

static bool can_fail(long number)
{
	return number == SYS_mmap || number == SYS_mprotect || number == SYS_madvise ||
	       number == SYS_openat || number == SYS_read || number == SYS_write ||
	       number == SYS_lseek || number == SYS_readlinkat || number == SYS_futex ||
	       number == SYS_prlimit64 || number == SYS_clock_gettime || number == SYS_gettid ||
	       number == SYS_prctl;
}

bool hwr_inject(long number)
{
	if (state == 0)
		read_wish();
	return state == 2 && can_fail(number) && add_relaxed(&calls, 1) + 1 == chosen;
}

static __attribute__((destructor)) void tell(void)
{
	char line[32];
	int fd, n;

	if (state != 2 || !path[0])
		return;
	fd = (int)hwr_syscall6(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND,
			       0644, 0, 0);
	n = snprintf(line, sizeof line, "%llu\n", (unsigned long long)calls);
	hwr_syscall3(SYS_write, fd, (long)line, n);
	hwr_syscall3(SYS_close, fd, 0, 0);
}

#endif
