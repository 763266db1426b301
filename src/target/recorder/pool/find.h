/* SPDX-License-Identifier: MIT
 * Functions of a loaded module by name. Runs in the target. */
#ifndef TARGET_RECORDER_POOL_FIND_H
#define TARGET_RECORDER_POOL_FIND_H

#include "format/session.h"

struct link_map;

/* Calls found(number of the pool, first byte, size) for each function of the module that has the
 * name of a pool: those that it offers to others, and all that its file has a symbol for. The same
 * one may be told twice. */
void hwr_find_pools(const struct link_map *map, const struct hw_pool *pools, u32 count,
		    void (*found)(u32 number, u64 start, u64 bytes));

/* Calls found(name, first byte) for each function that the symbols of the module's file have; an
 * empty path is the program's. */
void hwr_find_each(const char *path, u64 base, void (*found)(const char *name, u64 start));

/* The same of the program's own functions that are not local to a file of it, with sizes. False:
 * its file has no symbols (but those that it offers to others). */
bool hwr_find_global(u64 base, void (*found)(const char *name, u64 start, u64 bytes));

#endif
