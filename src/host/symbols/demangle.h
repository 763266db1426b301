/* SPDX-License-Identifier: MIT
 * Linker names → the names that people wrote: C++ (Itanium), Rust (legacy and v0), what is Ada's
 * own (GNAT), and what Valgrind calls the functions that it puts in the place of others. */
#ifndef HOST_SYMBOLS_DEMANGLE_H
#define HOST_SYMBOLS_DEMANGLE_H

#include "format/types.h"

/* The readable name, to be freed by the caller; NULL if name is not mangled, is malformed, or
 * cannot be printed within bounds (a short name can stand for gigabytes). Any string is safe. */
char *demangle(const char *name);

#endif
