/* SPDX-License-Identifier: MIT
 * The recorder as a library that is loaded before all others, or (HWR_LINKED: libheapwise.a) as a part of the
 * program: what differs between the two. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_LINKED_H
#define TARGET_RECORDER_STATE_LINKED_H

#include <link.h>

#include "format/types.h"

struct hwr_module_at;

/* True if this copy has nothing to do here: the program has one linked in, which records; or ours is the one that is
 * linked in, and the process has more rights than whoever started it. */
bool hwr_stands_back(void);

/* The first of the loaded objects, NULL if there is no list. Of a static program it is all there is. */
const struct link_map *hwr_first_map(void);

/* Whether this object is nothing but the recorder. */
bool hwr_map_is_ours(const struct link_map *map);

/* Whether this object is or has this copy. */
bool hwr_map_has_us(const struct link_map *map);

/* Sets hwr_own_start and hwr_own_bytes: our code, and in a library of ours all the rest. */
void hwr_own_find(void);

/* Calls told for each range of memory in which our variables are. */
void hwr_own_variables(void (*told)(void *start, size_t bytes));

struct hwr_real;

#ifdef HWR_LINKED

/* Whether the program has no loader. */
bool hwr_is_static(void);

/* As hwr_module_at, in a static program; false if the address is not the program's. */
bool hwr_static_module_at(u64 pc, struct hwr_module_at *module);

/* The C library's allocator where it cannot be looked up. */
void hwr_static_allocator(struct hwr_real *real);

#else

static inline bool hwr_is_static(void) { return false; }
static inline bool hwr_static_module_at(u64 pc, struct hwr_module_at *module)
{
	(void)pc;
	(void)module;
	return false;
}
static inline void hwr_static_allocator(struct hwr_real *real) { (void)real; }

#endif
#endif
