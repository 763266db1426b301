/* SPDX-License-Identifier: MIT
 * One writer per trace: who writes a file, or appends to it, holds its lock (flock) until it is
 * closed. */
#ifndef HOST_TRACE_LOCK_H
#define HOST_TRACE_LOCK_H

#include "format/types.h"

/* 0, or EBUSY if another writer has it for longer than that. What is no regular file, or lies on a
 * file system without locks, has none. */
int trace_lock(int fd, u64 wait_ms);

#endif
