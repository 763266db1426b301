/* SPDX-License-Identifier: MIT
 * What is found of a program's last image while it runs, from the trace as it grows: sums, and the
 * chunks that are kept. Memory is bounded by what lives at once, whatever the trace's size.
 *
 *	struct loading *loading = loading_begin(path);
 *	...                             the program runs
 *	if (loading_finish(loading, most))
 *		study_begin(study, loading);
 *	loading_free(loading);
 *
 * All functions take NULL, for when there was no memory. */
#ifndef STUDY_OPEN_LOADING_H
#define STUDY_OPEN_LOADING_H

#include "study/open/sums.h"

struct loading;

/* The file is there. A thread of its own reads it, and gives way to all others. */
struct loading *loading_begin(const char *path);

/* The file is closed: reads what is left of it, if that is not more than so many events. NULL if
 * there is no model: more are left, or whoever reads the trace learns why, or it has what has to be
 * asked of single chunks (accesses). The model is still the loading's. */
const struct model *loading_finish(struct loading *self, u64 most);

/* After loading_finish: what was found is the caller's. False if there is nothing. The names of
 * types are not loaded yet. */
bool loading_take(struct loading *self, struct study_sums *sums);
const char *loading_path(const struct loading *self);
void loading_free(struct loading *self);

#endif
