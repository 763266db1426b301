/* SPDX-License-Identifier: MIT
 * Accesses that compilers do not check in a module that they instrument. */
#ifndef LIVE_PROGRAM_UNCHECKED_H
#define LIVE_PROGRAM_UNCHECKED_H

#include "format/types.h"

/* How many instructions of the file access memory in a way that neither gcc nor clang instruments,
 * or not both: on aarch64 loads and stores of several registers or with gaps (ld2, st4, ld1 of
 * four) and all of SVE. 0 if it cannot be read, has no list of sections, or is of another
 * processor. */
u64 unchecked_count(const char *path);

#endif
