/* SPDX-License-Identifier: MIT
 * Which objects live, and what the collector frees; see ecl_library.h. Runs in the target.
 *
 * A bit for each 16 bytes of the collector's heap says where an object begins. The collector tells
 * nobody what it frees, but when a collection has ended, and before anything can be allocated from
 * it, its marks say what lives: what has a bit and no mark is gone. The collector's lock is held
 * then, so one thread at a time is here; the others may set bits meanwhile. */
#include "ecl_library.h"

#include <gc/gc.h>
#include <gc/gc_mark.h>
#include <sys/mman.h>

enum {
	GRANULE_SHIFT = 4,
	LEAF_SHIFT = 22, /* memory that a leaf is for */
	ADDRESS_BITS = 48,
	LEAF_WORDS = 1 << (LEAF_SHIFT - GRANULE_SHIFT - 6),
	LEAVES_MAX = 1 << 16, /* 256 GB of heap */
};

/* The library is loaded into programs without the collector, too. */
#pragma weak GC_is_marked
#pragma weak GC_base
#pragma weak GC_set_on_collection_event
#pragma weak GC_get_on_collection_event

static u64 **leaves; /* by address */
static u32 used[LEAVES_MAX];
static u32 used_count;
static GC_on_collection_event_proc chained;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static u64 **top(void)
{
	u64 **table = load_acquire(&leaves), **nothing = NULL;

	if (table)
		return table;
	table = map(sizeof *leaves << (ADDRESS_BITS - LEAF_SHIFT));
	if (table && !cas_acq_rel(&leaves, &nothing, table)) {
		munmap(table, sizeof *leaves << (ADDRESS_BITS - LEAF_SHIFT));
		return nothing;
	}
	return table;
}

static u64 *leaf_at(u64 address)
{
	u64 **table = address >> ADDRESS_BITS ? NULL : top();
	u64 **place = table ? &table[address >> LEAF_SHIFT] : NULL;
	u64 *leaf = place ? load_acquire(place) : NULL, *nothing = NULL;
	u32 number;

	if (leaf || !place)
		return leaf;
	leaf = map(LEAF_WORDS * sizeof *leaf);
	if (!leaf)
		return NULL;
	if (!cas_acq_rel(place, &nothing, leaf)) {
		munmap(leaf, LEAF_WORDS * sizeof *leaf);
		return nothing;
	}
	number = add_relaxed(&used_count, 1);
	if (number < LEAVES_MAX)
		store_release(&used[number], (u32)(address >> LEAF_SHIFT));
	return leaf;
}

static u64 *word_of(u64 *leaf, u64 address, u64 *bit)
{
	u64 granule = (address & (((u64)1 << LEAF_SHIFT) - 1)) >> GRANULE_SHIFT;

	*bit = (u64)1 << granule % 64;
	return &leaf[granule / 64];
}

bool hwl_heap_add(u64 address)
{
	u64 *leaf = leaf_at(address), bit, *word;

	if (!leaf)
		return false;
	word = word_of(leaf, address, &bit);
	return or_acq_rel(word, bit) & bit;
}

bool hwl_heap_drop(u64 address)
{
	u64 *leaf = leaf_at(address), bit, *word;

	if (!leaf)
		return false;
	word = word_of(leaf, address, &bit);
	return and_acq_rel(word, ~bit) & bit;
}

static bool lives(u64 address)
{
	/* A block that was freed as a whole has no header to look into. */
	return (u64)GC_base((void *)address) == address && GC_is_marked((void *)address);
}

static void look_at_word(u64 *word, u64 address, u32 collector)
{
	for (u64 bits = load_acquire(word); bits; bits &= bits - 1) {
		u64 at = address + ((u64)__builtin_ctzll(bits) << GRANULE_SHIFT);

		if (!lives(at) && hwl_heap_drop(at))
			heapwise_runtime_collected(at, collector);
	}
}

static void on_event(GC_EventType event)
{
	u32 collector, count;

	if (event == GC_EVENT_RECLAIM_END) {
		collector = heapwise_runtime_code("(garbage collector)");
		count = load_acquire(&used_count);
		for (u32 i = 0; i < count && i < LEAVES_MAX; i++) {
			u64 start = (u64)load_acquire(&used[i]) << LEAF_SHIFT;
			u64 *leaf = start ? leaf_at(start) : NULL;

			for (u32 word = 0; leaf && word < LEAF_WORDS; word++)
				look_at_word(&leaf[word],
					     start + ((u64)word << (GRANULE_SHIFT + 6)), collector);
		}
	}
	if (chained)
		chained(event);
}

void hwl_heap_watch(void)
{
	if (!GC_set_on_collection_event || !GC_get_on_collection_event || !GC_is_marked || !GC_base)
		return;
	chained = GC_get_on_collection_event();
	GC_set_on_collection_event(on_event);
}
