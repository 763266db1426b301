/* SPDX-License-Identifier: MIT
 * The lock of a trace. Runs on the host. Never waits for longer than it is told. */
#include "host/trace/lock.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum { STEP_MS = 10 };

int trace_lock(int fd, u64 wait_ms)
{
	struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return 0;
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0;
		if (wait_ms < STEP_MS)
			return EBUSY;
		wait_ms -= STEP_MS;
		nanosleep(&step, NULL);
	}
	return 0;
}
