/* SPDX-License-Identifier: MIT
 * Names of types in a line of source that allocates: hints for guesses, nothing more. */
#ifndef SYMBOLS_SOURCE_TYPES_H
#define SYMBOLS_SOURCE_TYPES_H

#include "symbols/type_text.h"

enum { SOURCE_TYPES_MAX = 8 };

struct source_type {
	struct span name; /* "ns::Foo<int>", "unsigned long"; in the line's text */
	u32 column;       /* of what it was found by, from 1 */
	bool pointer;     /* "new Foo *": a pointer to it */
	bool is_new;      /* of a new expression; else of a sizeof */
};

struct source_types {
	struct source_type rows[SOURCE_TYPES_MAX];
	u32 count;
};

/* What "new X", "sizeof(X)" and "sizeof(struct X)" of the line name. */
void source_types_find(const char *line, struct source_types *out);

/* Bytes of a type of the language on a machine with 64 bits ("unsigned long"), 0 = no such type. */
u64 source_scalar_size(const char *name);

#endif
