/* SPDX-License-Identifier: MIT
 * Objects and archives that are linked with instrumented ones, and have code without checks.
 * Host. */
#ifndef HOST_CHECKS_PLAIN_H
#define HOST_CHECKS_PLAIN_H

#include "format/types.h"

/* Whether the file is an object, or an archive with one in it, that has code and was not compiled
 * by `heapwise cc`. Known by what compilers leave in theirs: gcc its options
 * (-frecord-gcc-switches), clang a function, with -flto as well. False for all other files. */
bool plain_is_linked(const char *path);

#endif
