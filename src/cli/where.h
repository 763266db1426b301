/* SPDX-License-Identifier: MIT
 * --where: a command looks at some chunks of a trace only. */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "base/options.h"
#include "cli/loaded.h"

#define WHERE_OPTION(type, field)                                                                  \
	OPTION(type, field, 0, "where", OPTION_STRING, "QUERY",                                    \
	       "look at the chunks only that the query is left with, or for which the condition "  \
	       "holds: 'size >= 1KiB'; see heapwise-query(7)")

/* Whether the text is right, before a trace is read for nothing. */
int where_check(const char *text, struct err *err);

/* Makes the model that of the chosen chunks; the whole one is kept in self->whole. */
int where_apply(struct loaded *self, struct err *err);

#endif
