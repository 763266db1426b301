/* SPDX-License-Identifier: MIT
 * Inserts into the calling-context tree. Runs in the target; lock-free and safe in signal handlers. */
#include "recorder/context.h"

#include "recorder/sys.h"

struct hwr_context_table hwr_context_tables[HWR_CONTEXT_TABLES];
u32 hwr_context_table_count;

/* Makes sure that table number `table` exists. Concurrent makers of one table: the first wins. */
static bool table_make(u32 table)
{
	struct hwr_context_table *t = &hwr_context_tables[table];
	u64 buckets = 1ull << (HWR_CONTEXT_FIRST_BITS + 2 * table);
	u64 bytes = buckets * HWR_CONTEXT_BUCKET * sizeof(u64);
	u64 *none = NULL;
	u64 *words = hwr_map_private(bytes);
	u32 count = table;

	if (!words)
		return load_relaxed(&t->words) != NULL;
	store_relaxed(&t->mask, buckets - 1); /* the same value by every maker */
	if (!cas_acq_rel(&t->words, &none, words))
		hwr_munmap(words, bytes);
	cas_acq_rel(&hwr_context_table_count, &count, table + 1);
	return true;
}

bool hwr_context_init(void)
{
	hwr_context_table_count = 0;
	for (u32 i = 0; i < HWR_CONTEXT_TABLES; i++)
		hwr_context_tables[i] = (struct hwr_context_table){ NULL, 0 };
	return table_make(0);
}

/* Reserves a node and fills it; 0 if there is none left. */
static u32 node_make(u32 parent, u64 pc, u32 *spare)
{
	u32 node = *spare ? *spare : add_relaxed(&hwr_control->nodes_used, 1);

	*spare = 0;
	if (node >= hwr_control->nodes_max) {
		store_relaxed(&hwr_control->nodes_used, hwr_control->nodes_max);
		return 0;
	}
	hwr_nodes[node].pc = pc;
	hwr_nodes[node].parent = parent;
	return node;
}

/* Takes the first free slot of the bucket for (parent, pc); 0 if the bucket is full of others. */
static u32 bucket_insert(u64 *bucket, u32 parent, u64 pc, u64 hash, u32 *node)
{
	u64 tag = (u64)((u32)(hash >> 32) | 1) << 32;

	for (u32 i = 0; i < HWR_CONTEXT_BUCKET; i++) {
		u64 word = load_acquire(&bucket[i]);

		if (word == 0 && cas_acq_rel(&bucket[i], &word, tag | *node)) {
			u32 taken = *node;

			*node = 0;
			return taken;
		}
		if ((word & ~0xffffffffull) == tag && hwr_nodes[(u32)word].pc == pc &&
		    hwr_nodes[(u32)word].parent == parent)
			return (u32)word;
	}
	return 0;
}

u32 hwr_context_insert(u32 parent, u64 pc, u64 hash, u32 *spare)
{
	u32 node = node_make(parent, pc, spare);
	u32 found = 0;

	if (!node) {
		hwr_fault(HW_FAULT_NODES_FULL);
		return 0;
	}
	for (u32 table = 0; table < HWR_CONTEXT_TABLES && !found; table++) {
		if (!load_acquire(&hwr_context_tables[table].words) && !table_make(table))
			break;
		found = bucket_insert(hwr_context_bucket(table, hash), parent, pc, hash, &node);
	}
	*spare = node; /* 0 if it was used */
	if (!found)
		hwr_fault(HW_FAULT_NODES_FULL);
	return found;
}
