/* SPDX-License-Identifier: MIT
 * Keeps in a trace which variables the pointers outside of chunks are in, so that owners have the
 * same names where the program's files are gone. */
#ifndef HOST_SYMBOLS_RESOLVE_KEEP_VARIABLES_H
#define HOST_SYMBOLS_RESOLVE_KEEP_VARIABLES_H

#include "host/symbols/collect.h"

/* Appends to the trace at path; collect is finished, debug_path may be NULL. */
int symbols_keep_variables(const char *path, const struct collect *collect, const char *debug_path,
			   struct err *err);

#endif
