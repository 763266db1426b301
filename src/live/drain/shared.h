/* SPDX-License-Identifier: MIT
 * Memory that other processes map, too: the recorded program, a tool that has joined. They may
 * write anything into it, so numbers in it are checked where they are used; that its pages are
 * there is seen to here. */
#ifndef LIVE_DRAIN_SHARED_H
#define LIVE_DRAIN_SHARED_H

#include "format/types.h"

/* A memfd that only its owner may open, or -1 with errno. */
int shared_create(const char *name);

/* Nobody can change its size any more: the monitor would die of SIGBUS where the pages were.
 * Nothing happens where the system knows no seals. */
void shared_seal(int fd);

#endif
