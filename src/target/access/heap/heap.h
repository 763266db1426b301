/* SPDX-License-Identifier: MIT
 * The heap that serves a program whose accesses are recorded. Runs in the target.
 *
 * Each size class has a region of address space of its own, cut into slots of one size; so the
 * chunk that any address belongs to, and the record of what is known of that chunk, are found by
 * arithmetic, without a lock or a search. Slots are handed out in batches and kept in lists of free
 * ones, which are linked through the records: freed memory is never written to. No locks anywhere,
 * safe in signal handlers and after fork.
 * Larger requests than the largest class, and those that find their region full, are the real
 * allocator's. */
#ifndef TARGET_ACCESS_HEAP_HEAP_H
#define TARGET_ACCESS_HEAP_HEAP_H

#include "format/family.h"
#include "target/access/heap/chunk.h"

/* Reserves the address space; false: the heap cannot be used. Safe to call again. */
bool hwr_heap_open(void);

/* From now on chunks are armed: their shadow is set. The shadow must be there. */
void hwr_heap_arm(void);
bool hwr_heap_is_armed(void);

/* The allocator's functions, as libc has them. Errno is set where libc's would set it. */
#define HWR_HEAP(result, name, parameters, ...) result hwr_heap_##name parameters;
HW_FAMILY(HWR_HEAP, HWR_HEAP, HW_NO_ROW)
#undef HWR_HEAP
/* From now on they are what the hooks call. */
struct hwr_real;
void hwr_heap_replace(struct hwr_real *real);
/* SIZE_MAX if it is not a chunk of this heap. */
size_t hwr_heap_usable_size(const void *p);

/* Calls visit for each live chunk. Chunks may come and go meanwhile. */
void hwr_heap_each(void (*visit)(void *self, u64 address, struct hwr_chunk *chunk), void *self);

/* Maps just there, zeroed; NULL if something is there already. */
void *hwr_map_at(u64 address, u64 bytes);

#endif
