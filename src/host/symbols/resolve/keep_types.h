/* SPDX-License-Identifier: MIT
 * Keeps in a trace what the debug info of its files says of types, so that types are told alike
 * where those files are gone. */
#ifndef HOST_SYMBOLS_RESOLVE_KEEP_TYPES_H
#define HOST_SYMBOLS_RESOLVE_KEEP_TYPES_H

#include "host/symbols/collect.h"

struct keep_types_query {
	const struct collect *collect; /* finished */
	/* files that it has open are not opened anew; may be NULL */
	const struct symbolizer *symbolizer;
	const char *debug_path; /* as everywhere; may be NULL */
	u64 max_bytes;          /* of debug info to read; 0 = 64 MiB */
};

/* The C and C++ libraries, and files whose debug info is larger than what is left of the bound, or
 * that have none, are left out. Appends to the trace at path. */
int symbols_keep_types(const char *path, const struct keep_types_query *query, struct err *err);

#endif
