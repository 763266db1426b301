/* SPDX-License-Identifier: MIT
 * Known allocators that calls reach without passing a hook: linked into the program, whose names
 * come before ours, or called by names of their own. Runs in the target. */
#ifndef TARGET_RECORDER_POOL_ENTRIES_H
#define TARGET_RECORDER_POOL_ENTRIES_H

#include "format/types.h"

struct link_map;

/* Whether a module that is loaded, or the program itself, has functions of one of these (bits of
 * enum hw_allocator). */
bool hwr_entries_are_there(u32 allocators);

/* Calls found for each such function of a module that has just been loaded. entry: its number in
 * hw_entries. interposed: our hooks stand before the module's malloc, so that calls from inside it
 * are those of hooks. */
typedef void hwr_entry_found(u32 entry, u64 start, u64 bytes, bool interposed);
void hwr_entries_find(const struct link_map *map, bool is_program, u32 allocators,
		      hwr_entry_found *found);

#endif
