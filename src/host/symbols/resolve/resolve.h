/* SPDX-License-Identifier: MIT
 * Resolves every address that the contexts of a trace name, and writes the result into it. */
#ifndef HOST_SYMBOLS_RESOLVE_RESOLVE_H
#define HOST_SYMBOLS_RESOLVE_RESOLVE_H

#include "host/symbols/symbolizer.h"
#include "host/trace/stream.h"

struct symbolize_options {
	bool no_inlines;
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
	u64 type_bytes;         /* of debug info to read for types, 0 = 64 MiB */
	struct symbolizer *symbolizer; /* may have read modules already; NULL = one of its own */
	void (*progress)(void *self, double share); /* may be NULL */
	void *progress_self;
};

struct symbolize_summary {
	u64 addresses;  /* distinct (module, address) pairs */
	u64 named;      /* with a function name */
	u64 with_lines; /* with file:line */
	u64 types;      /* distinct identities of types that are addresses */
	u64 types_named;
	u64 modules;          /* that any address falls in */
	u64 modules_missing;  /* whose file is gone or has another build-id now */
	u64 modules_stripped; /* without symbol table beyond dynsym and without debug info */
};

int symbols_resolve_trace(const char *path, const struct symbolize_options *options,
			  struct symbolize_summary *summary, struct err *err);

#endif
