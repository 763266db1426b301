/* SPDX-License-Identifier: MIT
 * XXH3, inlined. Runs on the host. Unless xxhash is told to copy bytes, it reads them as numbers:
 * a compiler may then hash a structure before the stores to its fields, which have other types. */
#ifndef HOST_BASE_XXH_H
#define HOST_BASE_XXH_H

#define XXH_INLINE_ALL
#define XXH_FORCE_MEMORY_ACCESS 0
#include <xxhash.h>

#endif
