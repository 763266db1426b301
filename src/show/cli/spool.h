/* SPDX-License-Identifier: MIT
 * A folder where traces wait for a store that is away: delivered when it is back, removed when it has them, and never larger
 * than was said. */
#ifndef SHOW_CLI_SPOOL_H
#define SHOW_CLI_SPOOL_H

#include "show/cli/pushing.h"

#define SPOOL_BYTES (1ull << 30)

/* A name that no other trace in the folder has, which is made if needed. What `about` tells of the run, host, version, build
 * and labels, is kept beside it, in TRACE.about: whoever delivers the trace may know nothing of it. */
int spool_name(const char *folder, const char *program, const struct pushing *about, struct strbuf *path, struct err *err);

/* Puts a copy of a trace into the folder, or another name of it; one that is there already is not put there again. */
int spool_keep(const char *folder, const char *trace, const struct pushing *about, struct err *err);

/* Keeps `about` with a trace that was written into the folder by a name that was not known, a further recording of the
 * program. Does nothing for a trace that is elsewhere or has something beside it. */
int spool_tell(const char *folder, const char *trace, const struct pushing *about, struct err *err);

/* Removes a trace and what is kept beside it. */
void spool_remove(const char *path);

/* Delivers what is in the folder. What cannot be stays there, up to max_bytes: the oldest go first, and that is told. One
 * process at a time delivers; others leave it to that one. EXIT_DONE if nothing is left that could be delivered. What is
 * kept with a trace is told of it, and nothing that self tells. */
int spool_deliver(struct pushing *self, const char *address, const char *folder, u64 max_bytes);

#endif
