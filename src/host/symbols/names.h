/* SPDX-License-Identifier: MIT
 * Strings that are kept once each, and readable names by linker name. The results of one
 * symbolizer share their strings through this table; they live until names_release. */
#ifndef HOST_SYMBOLS_NAMES_H
#define HOST_SYMBOLS_NAMES_H

#include "host/base/arena.h"

struct name {
	u64 hash;
	const char *text;     /* NULL = free place */
	const char *readable; /* demangled or text itself, NULL = not asked yet */
};

struct names {
	struct arena arena;
	struct name *table;
	u64 capacity; /* 0 or a power of two */
	u64 used;
};

/* The kept copy of text; equal texts give the same pointer. "" if memory is short or text NULL. */
const char *names_keep(struct names *self, const char *text);

/* The same of a text that need not be terminated. */
const char *names_keep_bytes(struct names *self, const char *text, u64 bytes);

/* What to show for a linker name: demangled, or as it is. */
const char *names_readable(struct names *self, const char *linker_name);

void names_release(struct names *self);

#endif
