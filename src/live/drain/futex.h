/* SPDX-License-Identifier: MIT
 * The two futex calls that the monitor makes on shared memory. */
#ifndef LIVE_DRAIN_FUTEX_H
#define LIVE_DRAIN_FUTEX_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/types.h"
#include "host/base/clock.h"

/* Sleeps while *word is `value`, at most timeout_ns; may return early for no reason. */
static inline void futex_wait(u32 *word, u32 value, u64 timeout_ns)
{
	struct timespec timeout = clock_time(timeout_ns);

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static inline void futex_wake(u32 *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

#endif
