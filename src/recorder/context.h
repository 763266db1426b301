/* SPDX-License-Identifier: MIT
 * The calling-context tree: (parent, pc) → node, shared by all threads, insert-only, lock-free.
 * Runs in the target; nodes live in shared memory, the index that finds them is private.
 *
 * The index is a few tables of growing size, each made of buckets of one cache line. A key goes
 * into the first table whose bucket for it has room, and slots of a bucket are taken in order; so
 * two threads that insert one key race for the same slot, and the loser finds the winner's node.
 * Nothing moves or is deleted: a signal handler may insert at any moment. */
#ifndef RECORDER_CONTEXT_H
#define RECORDER_CONTEXT_H

#include "recorder/state.h"

enum {
	HWR_CONTEXT_TABLES = 8,
	HWR_CONTEXT_BUCKET = 8,      /* words of node | tag << 32 in one cache line */
	HWR_CONTEXT_FIRST_BITS = 10, /* buckets of the first table; each next one has 4 times as many */
};

struct hwr_context_table {
	u64 *words;
	u64 mask; /* number of buckets - 1 */
};
extern struct hwr_context_table hwr_context_tables[HWR_CONTEXT_TABLES];
extern u32 hwr_context_table_count; /* tables that exist */

bool hwr_context_init(void);

/* Hash of a whole path, outermost frame first. It needs no memory access, so the buckets of all the
 * changed frames of a stack can be fetched in parallel. */
static inline u64 hwr_path_hash(u64 parent_hash, u64 pc)
{
	u64 h = (parent_hash ^ pc) * 0x9e3779b97f4a7c15ull;

	return h ^ (h >> 32);
}

static inline u64 *hwr_context_bucket(u32 table, u64 hash)
{
	const struct hwr_context_table *t = &hwr_context_tables[table];

	return t->words + (hash & t->mask) * HWR_CONTEXT_BUCKET;
}

static inline void hwr_context_prefetch(u64 hash)
{
	__builtin_prefetch(hwr_context_bucket(hwr_context_table_count - 1, hash));
}

/* Makes the node, or finds what another thread made meanwhile; 0 if the table is full. *spare keeps
 * a reserved node number of this thread that lost such a race. */
u32 hwr_context_insert(u32 parent, u64 pc, u64 hash, u32 *spare);

static inline u32 hwr_context_match(const u64 *bucket, u32 parent, u64 pc, u64 hash)
{
	u32 tag = (u32)(hash >> 32) | 1;

	for (u32 i = 0; i < HWR_CONTEXT_BUCKET; i++) {
		/* Relaxed: a node is complete before its word is set, and whoever publishes an event
		 * releases all that it has seen (x86_64 and ARMv8 are multi-copy atomic). */
		u64 word = load_relaxed(&bucket[i]);

		if (word == 0)
			return 0;
		if (word >> 32 == tag && hwr_nodes[(u32)word].pc == pc &&
		    hwr_nodes[(u32)word].parent == parent)
			return (u32)word;
	}
	return 0;
}

/* The node of pc called from parent. */
static inline u32 hwr_context_child(u32 parent, u64 pc, u64 hash, u32 *spare)
{
	/* Newest table first: it holds three quarters of all nodes. Acquire pairs with table_make's
	 * cas: a table that is counted has its words. */
	for (u32 table = load_acquire(&hwr_context_table_count); table-- > 0;) {
		u32 node = hwr_context_match(hwr_context_bucket(table, hash), parent, pc, hash);

		if (likely(node))
			return node;
	}
	return hwr_context_insert(parent, pc, hash, spare);
}

#endif
