/* SPDX-License-Identifier: MIT
 * Names as the tables of mprof show them. Owned by the result; NULL (and the result failed) if
 * there is no memory. */
#ifndef STUDY_ANALYSIS_MPROF_TEXT_H
#define STUDY_ANALYSIS_MPROF_TEXT_H

#include "study/analysis/mprof/calls.h"

/* The function's name without what makes C++ names unreadable, and then `after`. */
const char *mprof_short_name(struct result *result, const char *name, const char *after);

/* Path of the file that the function is in. */
const char *mprof_module(struct result *result, const struct mprof_calls *calls,
			 const struct mprof_function *function);

#endif
