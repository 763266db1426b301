/* SPDX-License-Identifier: MIT
 * What `heapwise import` does with a file of each format. Return the exit status. */
#ifndef SHOW_CLI_IMPORTS_H
#define SHOW_CLI_IMPORTS_H

#include "show/cli/command.h"

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns);
int import_heaplog(const struct command *command, char **from, u32 count, const char *to,
		   u64 tick_ns);
int import_heaptrack(const struct command *command, const char *from, const char *to);

#endif
