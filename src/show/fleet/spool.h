/* SPDX-License-Identifier: MIT
 * A folder where traces wait for a store that is away. What is known of a run, host, version, build
 * and labels, is kept beside its trace, in TRACE.about: whoever delivers the trace may know nothing
 * of it. */
#ifndef SHOW_FLEET_SPOOL_H
#define SHOW_FLEET_SPOOL_H

#include <sys/types.h>
#include <time.h>

#include "show/fleet/gather.h"

#define SPOOL_BYTES (1ull << 30)

/* A name that no other trace in the folder has, which is made if needed. */
int spool_name(const char *folder, const char *program, const struct run_about *about,
	       struct strbuf *path, struct err *err);

/* Puts a copy of a trace into the folder, or another name of it; one that is there already is not
 * put there again. */
int spool_keep(const char *folder, const char *trace, const struct run_about *about,
	       struct err *err);

/* Keeps `about` with a trace that was written into the folder by a name that was not known, a
 * further recording of the program. Does nothing for a trace that is elsewhere or has something
 * beside it. */
int spool_tell(const char *folder, const char *trace, const struct run_about *about,
	       struct err *err);

/* What is kept beside a trace replaces what is there; texts go into the arena. A trace that has
 * nothing beside it is told of as others are. */
int spool_about(const char *path, struct arena *arena, struct run_about *about, struct err *err);

/* Removes a trace and what is kept beside it. */
void spool_remove(const char *path);

/* One process at a time delivers: *lock is the file that has the lock; -1 if another process has
 * it. */
int spool_lock(const char *folder, int *lock, struct err *err);

/* ---- what is in the folder ---- */

struct spooled {
	struct timespec time;
	u64 bytes;
	dev_t device;
	ino_t inode;
	char *path;
};

struct spool_list { /* oldest first; all zero = empty */
	VEC(struct spooled) rows;
	u64 bytes;
};

void spool_list_fill(struct spool_list *self, const char *folder);
void spool_list_release(struct spool_list *self);

#endif
