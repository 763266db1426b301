/* SPDX-License-Identifier: MIT
 * Reads the model of a trace on a thread of its own, while names of functions, which the model does not need, are still
 * looked up and appended to the file.
 *
 *	struct loading *loading = loading_begin(path);
 *	symbols_resolve_trace(path, ...);
 *	struct model *model = loading_finish(loading, &info);
 *
 * All functions take NULL, for when nothing was begun. */
#ifndef CLI_LOADING_H
#define CLI_LOADING_H

#include "model/model.h"

struct loading;

/* Of the last image. From now on the file may grow. NULL if it cannot be begun. */
struct loading *loading_begin(const char *path);

/* Waits for it. NULL if there was a problem: who reads the trace again learns which. The names of types are not loaded
 * yet. info: what was found until the thread began, and what was wrong with the file. */
struct model *loading_finish(struct loading *self, struct trace_info *info);

#endif
