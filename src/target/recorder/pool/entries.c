/* SPDX-License-Identifier: MIT
 * Finds the functions of known allocators; see entries.h. Runs in the target.
 *
 * The program's file is read for all of its symbols, because what is linked into it is often not
 * offered to others. Of other modules only what they offer is looked at: that is two lookups for
 * each allocator. The names of the C library are looked for in the program alone; elsewhere our
 * hooks stand before them. */
#include "target/recorder/pool/entries.h"

#include <link.h>

#include "format/allocators.h"
#include "target/recorder/pool/find.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/real.h"

enum { FOUND_MAX = 256, HASH_BITS = 9, HASH_SLOTS = 1 << HASH_BITS };

struct found {
	u32 entry;
	u64 start, bytes;
};

static struct found in_program[FOUND_MAX];
static u32 in_program_count;
static u32 searched_for; /* allocators that the program was searched for; 0 = not yet */

static u8 hash_table[HASH_SLOTS]; /* number of an entry + 1 */
_Static_assert(HW_ENTRIES < 255 && HW_ENTRIES * 2 < HASH_SLOTS, "the table has room");

static u32 hash_of(const char *name)
{
	u32 hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (u8)*name) * 16777619u;
	return hash >> (32 - HASH_BITS);
}

static void hash_fill(void)
{
	for (u32 i = 0; i < HW_ENTRIES; i++) {
		u32 at = hash_of(hw_entries[i].name);

		while (hash_table[at])
			at = (at + 1) % HASH_SLOTS;
		hash_table[at] = (u8)(i + 1);
	}
}

static bool is_named(const struct hw_entry *entry, const char *name)
{
	return hwr_same(entry->name, name, hwr_length(entry->name) + 1);
}

static void keep(u32 entry, u64 start, u64 bytes)
{
	if (start - hwr_own_start < hwr_own_bytes)
		return; /* our hooks, linked into the program */
	for (u32 i = 0; i < in_program_count; i++)
		if (in_program[i].entry == entry)
			return;
	if (in_program_count < FOUND_MAX)
		in_program[in_program_count++] = (struct found){entry, start, bytes};
}

static void keep_found(u32 entry, u64 start, u64 bytes, bool interposed)
{
	(void)interposed;
	keep(entry, start, bytes);
}

static void look_at(const char *name, u64 start, u64 bytes)
{
	u32 at = hash_of(name);

	for (; hash_table[at]; at = (at + 1) % HASH_SLOTS) {
		u32 entry = hash_table[at] - 1u;

		if (searched_for >> hw_entries[entry].allocator & 1 &&
		    is_named(&hw_entries[entry], name))
			keep(entry, start, bytes);
	}
}

static bool has(const char *name)
{
	for (u32 i = 0; i < in_program_count; i++)
		if (is_named(&hw_entries[in_program[i].entry], name))
			return true;
	return false;
}

/* A program may replace a single one of the C library's functions, operator new for example; what
 * it calls for that passes our hooks. Only who has malloc and free is an allocator. */
static void drop_strays(void)
{
	u32 kept = 0;

	if (has("malloc") && has("free"))
		return;
	for (u32 i = 0; i < in_program_count; i++)
		if (hw_entries[in_program[i].entry].allocator != HW_ALLOCATOR_PROGRAM)
			in_program[kept++] = in_program[i];
	in_program_count = kept;
}

static void search_dynamic(const struct link_map *map, u32 allocators, bool interposed,
			   hwr_entry_found *found)
{
	u64 start, bytes;

	for (u32 i = 0; i < HW_ENTRIES; i++)
		if (allocators >> hw_entries[i].allocator & 1 &&
		    hwr_real_function_in(map, hw_entries[i].name, &start, &bytes))
			found(i, start, bytes, interposed);
}

static void search_program(const struct link_map *map, u32 allocators)
{
	if (searched_for == allocators)
		return;
	if (!searched_for)
		hash_fill();
	searched_for = allocators;
	in_program_count = 0;
	search_dynamic(map, allocators, false, keep_found);
	hwr_find_global(map->l_addr, look_at);
	drop_strays();
}

/* ---- other modules ---- */

static u32 allocators_in(const struct link_map *map, u32 allocators)
{
	static const char *const probes[][2] = {
		[HW_ALLOCATOR_JEMALLOC] = {"mallocx",
					   "_rjem_malloc"}, /* beside the one of the table */
		[HW_ALLOCATOR_COUNT] = {NULL},
	};
	static const char *const usual[] = {
#define PROBE(name, word, by_default, probe) probe,
		HW_ALLOCATORS(PROBE)};
	u32 there = 0;
	u64 start, bytes;

	for (u32 i = 0; i < HW_ALLOCATOR_COUNT; i++) {
		if (i == HW_ALLOCATOR_PROGRAM || !(allocators >> i & 1))
			continue;
		if (hwr_real_function_in(map, usual[i], &start, &bytes) ||
		    (probes[i][0] && hwr_real_function_in(map, probes[i][0], &start, &bytes)) ||
		    (probes[i][1] && hwr_real_function_in(map, probes[i][1], &start, &bytes)))
			there |= 1u << i;
	}
	return there;
}

bool hwr_entries_are_there(u32 allocators)
{
	const struct link_map *map = hwr_first_map();

	if (!allocators || !map || hwr_map_is_ours(map))
		return false;
	hwr_own_find();
	search_program(map, allocators);
	if (in_program_count)
		return true;
	while ((map = map->l_next))
		if (map->l_ld && !hwr_map_is_ours(map) && allocators_in(map, allocators))
			return true;
	return false;
}

void hwr_entries_find(const struct link_map *map, bool is_program, u32 allocators,
		      hwr_entry_found *found)
{
	u64 start, bytes;
	bool interposed;

	if (is_program) {
		search_program(map, allocators);
		for (u32 i = 0; i < in_program_count; i++)
			found(in_program[i].entry, in_program[i].start, in_program[i].bytes, false);
		return;
	}
	allocators = allocators_in(map, allocators);
	interposed = allocators && hwr_real_function_in(map, "malloc", &start, &bytes);
	search_dynamic(map, allocators, interposed, found);
}
