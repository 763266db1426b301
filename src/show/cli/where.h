/* SPDX-License-Identifier: MIT
 * --where: a command looks at some chunks of a trace only. */
#ifndef SHOW_CLI_WHERE_H
#define SHOW_CLI_WHERE_H

#include "show/cli/loaded.h"

/* Whether the text is right, before a trace is read for nothing. */
int where_check(const char *text, struct err *err);

/* Makes the model that of the chosen chunks; the whole one is kept in self->whole. */
int where_apply(struct loaded *self, struct err *err);

#endif
