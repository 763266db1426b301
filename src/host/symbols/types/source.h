/* SPDX-License-Identifier: MIT
 * Names of types in a line of source that allocates: hints for guesses, nothing more. */
#ifndef HOST_SYMBOLS_TYPES_SOURCE_H
#define HOST_SYMBOLS_TYPES_SOURCE_H

#include "host/symbols/type_text.h"

enum { SOURCE_TYPES_MAX = 8 };

struct source_type {
	struct span name; /* "ns::Foo<int>", "unsigned long"; in the line's text */
	u32 column;       /* of what it was found by, from 1 */
	bool pointer;     /* "new Foo *": a pointer to it */
	bool is_new;      /* of a new expression, */
	bool is_thrown;   /* or of a throw expression; else of a sizeof */
};

struct source_types {
	struct source_type rows[SOURCE_TYPES_MAX];
	u32 count;
};

/* What "new X", "throw X(…)", "sizeof(X)" and "sizeof(struct X)" of the line name. */
void source_types_find(const char *line, struct source_types *out);

/* The full name of an exception of the C++ library ("runtime_error", with or without std::), and
 * its bytes; NULL = none. */
const char *source_standard_exception(const char *name, u64 *size);

/* Bytes of a type of the language on a machine with 64 bits ("unsigned long"), 0 = no such type. */
u64 source_scalar_size(const char *name);

#endif
