/* SPDX-License-Identifier: MIT
 * Known allocators that calls reach without passing a hook: linked into the program, whose names come
 * before ours, or called by names of their own. Runs in the target. */
#ifndef TARGET_RECORDER_POOL_ENTRIES_H
#define TARGET_RECORDER_POOL_ENTRIES_H

#include "format/types.h"

struct link_map;

/* Whether a module that is loaded, or the program itself, has functions of one of these (bits of enum
 * hw_allocator). */
bool hwr_entries_are_there(u32 allocators);

/* Stands in front of those of a module that has just been loaded; `first` is the program. */
void hwr_entries_attach(const struct link_map *map, bool first, u32 allocators);

#endif
