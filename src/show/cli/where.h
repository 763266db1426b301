/* SPDX-License-Identifier: MIT
 * --where: a command looks at some chunks of a trace only. */
#ifndef SHOW_CLI_WHERE_H
#define SHOW_CLI_WHERE_H

#include "study/open/study.h"

/* Whether the text is right, before a trace is read for nothing. */
int where_check(const char *text, struct err *err);

/* Makes the study that of the chosen chunks. */
int where_apply(struct study *study, const char *where, struct err *err);

#endif
