/* SPDX-License-Identifier: MIT
 * The first findings of a trace in a few lines on stderr, for the end of `heapwise run`. */
#ifndef SHOW_CLI_BRIEF_H
#define SHOW_CLI_BRIEF_H

#include "show/cli/command.h"
#include "study/open/loading.h"

/* How many findings there are. loading: of this trace, whose model is taken; NULL = the trace is
 * read. */
u64 brief_findings(const struct command *command, const char *path, struct loading *loading);

#endif
