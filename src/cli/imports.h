/* SPDX-License-Identifier: MIT
 * What each import command does once its arguments are known, for `heapwise import`, which finds out itself
 * what a file is. Return the exit status. */
#ifndef CLI_IMPORTS_H
#define CLI_IMPORTS_H

#include "cli/command.h"

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns);
int import_heaplog(const struct command *command, char **from, u32 count, const char *to,
		   u64 tick_ns);
int import_heaptrack(const struct command *command, const char *from, const char *to);

#endif
