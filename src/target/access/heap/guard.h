/* SPDX-License-Identifier: MIT
 * Blocks of the heap that are handed to the C library past us. Runs in the target. */
#ifndef TARGET_ACCESS_HEAP_GUARD_H
#define TARGET_ACCESS_HEAP_GUARD_H

/* From now on the C library's free, realloc and malloc_usable_size know the heap. Safe to call
 * again. */
void hwr_guard_libc(void);

#endif
