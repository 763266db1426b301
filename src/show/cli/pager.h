/* SPDX-License-Identifier: MIT
 * Long output through the user's pager, as git does: $HEAPWISE_PAGER, else $PAGER, else less.
 * Nothing happens unless standard output is a terminal. */
#ifndef SHOW_CLI_PAGER_H
#define SHOW_CLI_PAGER_H

#include "format/types.h"

/* From here on pager_start() may start one; never after pager_forbid(). */
void pager_allow(void);
void pager_forbid(void);

/* Before the first output: starts the pager, if it is allowed, and leads standard output there, and
 * standard error if it is a terminal, too. */
void pager_start(void);

/* After the last output: waits until the user has left the pager. */
void pager_finish(void);

/* A pager may be left before all was written, which is no error. */
bool pager_is_used(void);

/* The terminal that output ends up on, also behind a pager. */
int pager_output(void);

#endif
