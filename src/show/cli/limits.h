/* SPDX-License-Identifier: MIT
 * --limits FILE: thresholds of all commands in one file, `name = value` in each line, # begins a
 * comment. A name is that of an option with OPTION_LIMIT. */
#ifndef SHOW_CLI_LIMITS_H
#define SHOW_CLI_LIMITS_H

#include <stdio.h>

#include "host/base/options.h"

/* Puts the values of those names into fields that the table has. A name that no command has is an
 * error: it is misspelt. Errors name the file and the line. The text is kept until the process
 * ends. */
int limits_read(const struct option_spec *table, void *fields, const char *path, struct err *err);

/* Prints a file with all limits and their defaults. */
void limits_print(FILE *out);

#endif
