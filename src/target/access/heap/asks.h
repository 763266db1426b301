/* SPDX-License-Identifier: MIT
 * What the heap asks of the recording of accesses: shadow/, or pages/ (HWR_PAGES). Runs in the
 * target. */
#ifndef TARGET_ACCESS_HEAP_ASKS_H
#define TARGET_ACCESS_HEAP_ASKS_H

#include "target/access/heap/chunk.h"

struct hwr_real;

/* The allocator that the heap stands in front of. */
extern struct hwr_real hwr_libc;

/* A chunk begins in a slot whose last one may have left coverage behind. */
void hwr_chunk_begins(u64 address, struct hwr_chunk *chunk, u64 before);

/* A realloc ends a chunk and may begin the next at the same place before the end is recorded: keeps
 * what is known of it for the calling thread. */
void hwr_chunk_put_aside(u64 address, struct hwr_chunk *chunk);

/* A realloc copies, and what was put aside before is stale. */
void hwr_access_realloc(u64 from, u64 to, u64 bytes);
void hwr_access_copy(void *to, const void *from, u64 bytes);
void hwr_access_aside_forget(void);

/* Memory of a large chunk goes from slot to slot with what arms it, and is not copied. */
struct hwr_move {
	u64 from, from_bytes; /* slots */
	u64 to, to_bytes;
	u64 armed; /* bytes of `to` that are armed now */
	/* if it was moved, `from`, else `to`, is not memory any more, and cannot be made so
	 * again */
	bool hole;
};
#if defined(HWR_ACCESS) && !defined(HWR_PAGES)
static inline bool hwr_access_moves(void) { return true; }
bool hwr_access_move(struct hwr_move *move);

/* Bytes of a live chunk that stay armed when another one takes its place. `what` is the one's. */
u64 hwr_access_armed(u64 what, u64 bytes);
#else
static inline bool hwr_access_moves(void) { return false; }
static inline bool hwr_access_move(struct hwr_move *move)
{
	(void)move;
	return false;
}
static inline u64 hwr_access_armed(u64 what, u64 bytes)
{
	(void)what;
	(void)bytes;
	return 0;
}
#endif

#endif
