/* SPDX-License-Identifier: MIT
 * Inserts into the calling-context tree. Runs in the target; lock-free and safe in signal
 * handlers. */
#include "target/recorder/state/context.h"

#include "target/recorder/state/desk.h"

enum {
	PROBES = 8,        /* buckets looked at from the home bucket on */
	LARGE = 512 << 10, /* bytes of a table that are worth large pages of their own */
};

struct hwr_context_table *hwr_context_table;
static u32 growing; /* 1 while a thread copies */

static u64 buckets_bytes(u64 buckets) { return buckets * HWR_CONTEXT_BUCKET * sizeof(u64); }

/* Buckets are looked up at random: with small pages the processor looks for the page as long as for
 * the word. */
static struct hwr_context_table *table_new(u64 buckets)
{
	struct hwr_context_table *table;

	if (buckets_bytes(buckets) < LARGE) {
		table = hwr_desk_take(sizeof *table + buckets_bytes(buckets));
	} else {
		table = hwr_map_large(buckets_bytes(buckets));
		table = table ? table - 1 : NULL; /* so that the buckets are what begins there */
	}
	if (table)
		table->mask = buckets - 1;
	return table;
}

/* Late readers find zeros in a table that was replaced: no node, so they make one again. The
 * mapping stays. */
static void table_clear(struct hwr_context_table *table)
{
	if (buckets_bytes(table->mask + 1) >= LARGE)
		hwr_clear_large(table->words, buckets_bytes(table->mask + 1));
}

bool hwr_context_init(void)
{
	growing = 0;
	hwr_context_table = table_new(1u << HWR_CONTEXT_FIRST_BITS);
	return hwr_context_table != NULL;
}

static bool word_is(u64 word, u32 parent, u64 pc, u64 hash)
{
	u32 node = (u32)word & (HWR_NODES_LIMIT - 1);

	return word >> HWR_NODE_BITS == hash << HWR_NODE_BITS >> HWR_NODE_BITS &&
	       hwr_nodes[node].pc == pc && hwr_nodes[node].parent == parent;
}

/* Puts a word into a table that nobody else sees yet. */
static void table_copy_word(struct hwr_context_table *table, u64 word)
{
	u64 home = word >> HWR_NODE_BITS;

	for (u32 probe = 0; probe < PROBES; probe++) {
		u64 *bucket = hwr_context_bucket(table, home + probe);

		for (u32 i = 0; i < HWR_CONTEXT_BUCKET; i++)
			if (bucket[i] == 0) {
				bucket[i] = word;
				table->used++;
				return;
			}
	}
}

/* Replaces the table by one of twice the size. */
static void table_grow(struct hwr_context_table *old)
{
	struct hwr_context_table *bigger;
	u32 nobody = 0;

	if (!cas_acq_rel(&growing, &nobody, 1))
		return;
	bigger = load_relaxed(&hwr_context_table) == old ? table_new((old->mask + 1) * 2) : NULL;
	if (bigger) {
		for (u64 i = 0; i < (old->mask + 1) * HWR_CONTEXT_BUCKET; i++)
			if (load_relaxed(&old->words[i]))
				table_copy_word(bigger, load_relaxed(&old->words[i]));
		store_release(&hwr_context_table, bigger);
		table_clear(old);
	}
	store_release(&growing, 0);
}

/* Reserves a node and fills it; 0 if there is none left. */
static u32 node_make(u32 parent, u64 pc)
{
	u32 node = add_relaxed(&hwr_control->nodes_used, 1);

	if (unlikely(node >= hwr_control->nodes_max || node >= HWR_NODES_LIMIT)) {
		store_relaxed(&hwr_control->nodes_used, hwr_control->nodes_max);
		hwr_fault(HW_FAULT_NODES_FULL);
		return 0;
	}
	hwr_nodes[node].pc = pc;
	hwr_nodes[node].parent = parent;
	return node;
}

/* The word for (parent, pc), or the empty word where it belongs; NULL if there is neither. */
static u64 *find_place(struct hwr_context_table *table, u32 parent, u64 pc, u64 hash)
{
	for (u32 probe = 0; probe < PROBES; probe++) {
		u64 *bucket = hwr_context_bucket(table, hash + probe);

		for (u32 i = 0; i < HWR_CONTEXT_BUCKET; i++) {
			u64 word = load_relaxed(&bucket[i]);

			if (word == 0 || word_is(word, parent, pc, hash))
				return &bucket[i];
		}
	}
	return NULL;
}

u32 hwr_context_insert(u32 parent, u64 pc, u64 hash)
{
	struct hwr_context_table *table = load_acquire(&hwr_context_table);
	u64 *place = find_place(table, parent, pc, hash);
	u64 word = place ? load_relaxed(place) : 0;
	u32 node;

	if (word && word_is(word, parent, pc, hash))
		return (u32)word & (HWR_NODES_LIMIT - 1);
	node = node_make(parent, pc);
	word = 0;
	/* If another thread takes the place meanwhile, this node stays out of the table, and the
	 * next thread that needs it makes it again. */
	if (node && place && cas_acq_rel(place, &word, hash << HWR_NODE_BITS | node) &&
	    add_relaxed(&table->used, 1) > (table->mask + 1) * HWR_CONTEXT_BUCKET / 2)
		table_grow(table);
	return node;
}
