/* SPDX-License-Identifier: MIT
 * Readable names of functions: what is called, and the arguments of its templates. */
#ifndef HOST_SYMBOLS_TYPES_PATTERN_H
#define HOST_SYMBOLS_TYPES_PATTERN_H

#include "host/base/strbuf.h"

/* The name alone: "alloc" of "void* ns::alloc<T>(int) [clone .part.0]". */
void function_base(const char *function, struct strbuf *out);

/* Puts the arguments of an instantiation into a type: pattern "Pool T N;make V" names templates and
 * their parameters, function is "Pool<Foo, 3>::make<int>(long)"; "V *" → "int *". False if the type
 * has a part that the function does not tell. */
bool pattern_fill(const char *type, const char *pattern, const char *function, struct strbuf *out);

#endif
