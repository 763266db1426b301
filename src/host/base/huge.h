/* SPDX-License-Identifier: MIT
 * Memory in huge pages, where the kernel has them: in arrays of many megabytes that are looked up
 * at random, finding the page otherwise takes longer than reading it. */
#ifndef HOST_BASE_HUGE_H
#define HOST_BASE_HUGE_H

#include "format/types.h"

/* Asks for them in memory that is not used yet. NULL is none. */
void huge_ask(void *memory, u64 bytes);

/* As malloc and calloc; to be freed. NULL without memory. */
void *huge_alloc(u64 count, u64 each);
void *huge_zeroed(u64 count, u64 each);

#endif
