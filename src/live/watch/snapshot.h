/* SPDX-License-Identifier: MIT
 * A trace of what lives at one moment in a program that is watched, for all that works on
 * traces. */
#ifndef LIVE_WATCH_SNAPSHOT_H
#define LIVE_WATCH_SNAPSHOT_H

#include "host/base/err.h"
#include "format/types.h"

/* Of the program that `pid` is, or monitors: joins it as a tool would, so it takes a while.
 * Everything seems to be allocated at that moment. */
int snapshot_write(u32 pid, const char *path, struct err *err);

#endif
