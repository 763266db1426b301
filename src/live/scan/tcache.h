/* SPDX-License-Identifier: MIT
 * The caches of free blocks that glibc keeps for each thread (tcache). They are found by the
 * thread's own pointer to its cache, which lies as far from its thread pointer in all threads. What
 * is read may be anything: a cache counts only if each of its lists is whole.
 *
 *	struct tcaches caches = {0};
 *
 *	if (tcaches_read(&caches, &memory, threads, count))
 *		use(caches.blocks.data, caches.blocks.count);
 *	tcaches_release(&caches); */
#ifndef LIVE_SCAN_TCACHE_H
#define LIVE_SCAN_TCACHE_H

#include "host/base/vec.h"
#include "host/trace/stream.h"
#include "live/scan/memory.h"

enum { TCACHE_BLOCKS_MAX = 1 << 16 }; /* that are read, of all threads */

struct tcache_thread {
	u64 thread_pointer; /* 0 = unknown */
	u32 tid;
};

struct tcaches {                          /* all zero = empty */
	VEC(struct stream_cached) blocks; /* by address */
	u32 read;                         /* threads whose cache was */
	u32 unread;                       /* threads whose cache was not: it cannot be told, or
					     changed meanwhile */
};

/* Sorts the threads. False without memory. The process may run; then a cache that changes is read
 * again, but not often. */
bool tcaches_read(struct tcaches *self, struct scan_memory *memory, struct tcache_thread *threads,
		  u64 count);
void tcaches_release(struct tcaches *self);

#endif
