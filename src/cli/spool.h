/* SPDX-License-Identifier: MIT
 * A folder where traces wait for a store that is away: delivered when it is back, removed when it has them, and never larger
 * than was said. */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include "cli/pushing.h"

#define SPOOL_BYTES (1ull << 30)

/* The name of a trace in the folder, which is made if needed. */
int spool_name(const char *folder, const char *program, struct strbuf *path, struct err *err);

/* Puts a copy of a trace into the folder, or another name of it. */
int spool_keep(const char *folder, const char *trace, struct err *err);

/* Delivers what is in the folder. What cannot be stays there, up to max_bytes: the oldest go first, and that is told. One
 * process at a time delivers; others leave it to that one. EXIT_DONE if nothing is left that could be delivered. */
int spool_deliver(struct pushing *self, const char *address, const char *folder, u64 max_bytes);

#endif
