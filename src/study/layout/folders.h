/* SPDX-License-Identifier: MIT
 * Folders whose files may be shown: which files a trace names is the word of who made it. */
#ifndef STUDY_LAYOUT_FOLDERS_H
#define STUDY_LAYOUT_FOLDERS_H

#include "host/base/err.h"
#include "format/types.h"

enum { FOLDERS_MAX = 64 };

struct folders {                  /* all zero = none */
	char *paths[FOLDERS_MAX]; /* without links */
	u32 count;                /* grows while others read */
};

/* Not by two threads at once. A folder below one that is there already is not added. */
int folders_add(struct folders *self, const char *folder, struct err *err);
void folders_release(struct folders *self);

/* Whether a path without links is below one of them. */
bool folders_hold(const struct folders *self, const char *path);

/* Whether a path is below a folder, both without links. */
bool path_is_below(const char *path, const char *folder);

#endif
