/* SPDX-License-Identifier: MIT
 * What glibc's allocator can be told by from outside. All of it is a guess that is checked against
 * what must hold in every version since 2.26; where it does not hold, nothing is found. */
#ifndef LIVE_SCAN_GLIBC_H
#define LIVE_SCAN_GLIBC_H

#include "live/scan/index.h"

#define GLIBC_ARENA_BYTES ((u64)64 << 20)

/* Bytes in use of the arena that begins at start, a multiple of GLIBC_ARENA_BYTES; 0 = there is
 * none. A thread's arena begins with a pointer to its own state. */
u64 glibc_arena(struct scan_memory *memory, u64 start, u64 end);

/* The mapping that was made for just this block, as the words before the block say. */
bool glibc_mapped_block(struct scan_memory *memory, const struct scan_block *block,
			struct scan_span *span);

/* The state of the main arena, which lies in the library's data, if it is in this mapping. */
bool glibc_main_state(struct scan_memory *memory, const struct mapping *mapping,
		      struct scan_span *span);

/* Bytes in huge pages that the allocator asked for, where the kernel gives them on request: because
 * a tunable says so, or by itself. One look at /proc/PID/smaps if it may have. */
u64 glibc_huge_bytes(struct scan_memory *memory);

#endif
