/* SPDX-License-Identifier: MIT
 * Where the functions begin that hold given addresses, by a module's symbol tables. */
#ifndef HOST_SYMBOLS_STARTS_H
#define HOST_SYMBOLS_STARTS_H

#include "host/symbols/symbolizer.h"

#define NO_START UINT64_MAX

struct starts_query {
	struct symbolizer_module module;
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
	const u64 *addresses;
	u64 count;
};

/* Fills starts[i] for each address, NO_START if it is not known. A missing file is no error. */
int function_starts(const struct starts_query *query, u64 *starts, struct err *err);

#endif
