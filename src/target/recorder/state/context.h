/* SPDX-License-Identifier: MIT
 * The calling-context tree: (parent, pc) → node, shared by all threads, insert-only, lock-free.
 * Runs in the target; nodes live in shared memory, the index that finds them is private.
 *
 * The index is a hash table of buckets of one cache line, which one thread replaces by a larger
 * copy when it is half full, while the others go on with the old one. What they insert meanwhile
 * may be missing in the copy and is then made again: two nodes may mean the same frame, and
 * whoever reads a trace merges them. Nothing ever waits: a signal handler may insert at any
 * moment. */
#ifndef TARGET_RECORDER_STATE_CONTEXT_H
#define TARGET_RECORDER_STATE_CONTEXT_H

#include "target/recorder/state/state.h"

enum {
	HWR_CONTEXT_BUCKET = 8,      /* words in a cache line */
	HWR_CONTEXT_FIRST_BITS = 10, /* buckets of the first table */
	HWR_NODE_BITS = 24,          /* a word is hash << 24 | node; 0 = empty */
};
#define HWR_NODES_LIMIT (1u << HWR_NODE_BITS)

struct hwr_context_table {
	u64 mask; /* number of buckets - 1 */
	u64 used; /* words taken; approximate */
	u64 pad[6];
	u64 words[]; /* bucket by bucket */
};
extern struct hwr_context_table *hwr_context_table HWR_OWN;

bool hwr_context_init(void);

/* Hash of a whole path, outermost frame first. It needs no memory access, so the buckets of all the
 * changed frames of a stack can be fetched in parallel. */
static inline u64 hwr_path_hash(u64 parent_hash, u64 pc)
{
	u64 h = (parent_hash ^ pc) * 0x9e3779b97f4a7c15ull;

	return h ^ (h >> 32);
}

static inline u64 *hwr_context_bucket(struct hwr_context_table *table, u64 hash)
{
	return table->words + (hash & table->mask) * HWR_CONTEXT_BUCKET;
}

static inline void hwr_context_prefetch(u64 hash)
{
	/* Relaxed is enough here and below: what a pointer or word leads to was complete before it
	 * was stored, and both CPUs order a load after the load that its address depends on. */
	__builtin_prefetch(hwr_context_bucket(load_relaxed(&hwr_context_table), hash));
}

/* A node with this hash, 0 if there is none; whether it is the right one must still be seen. */
static inline u32 hwr_context_candidate(u64 hash)
{
	const u64 *bucket = hwr_context_bucket(load_relaxed(&hwr_context_table), hash);

	for (u32 i = 0; i < HWR_CONTEXT_BUCKET; i++) {
		u64 word = load_relaxed(&bucket[i]);

		if (word >> HWR_NODE_BITS == hash << HWR_NODE_BITS >> HWR_NODE_BITS)
			return (u32)word & (HWR_NODES_LIMIT - 1);
		if (word == 0)
			return 0;
	}
	return 0;
}

/* Finds by probing on, or makes, the node; 0 if the tree is full. */
u32 hwr_context_insert(u32 parent, u64 pc, u64 hash) __attribute__((noinline));

/* The node of pc called from parent, given what hwr_context_candidate said of its hash. */
static inline u32 hwr_context_confirm(u32 candidate, u32 parent, u64 pc, u64 hash)
{
	if (likely(candidate && hwr_nodes[candidate].pc == pc &&
		   hwr_nodes[candidate].parent == parent))
		return candidate;
	return hwr_context_insert(parent, pc, hash);
}

static inline u32 hwr_context_child(u32 parent, u64 pc, u64 hash)
{
	return hwr_context_confirm(hwr_context_candidate(hash), parent, pc, hash);
}

#endif
