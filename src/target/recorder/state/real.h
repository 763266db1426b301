/* SPDX-License-Identifier: MIT
 * The allocator functions that the hooks stand in front of. Runs in the target.
 * They are looked up in the loaded objects' own symbol tables, because dlsym may allocate and takes
 * a lock that a thread in dlopen holds while it waits for us. */
#ifndef TARGET_RECORDER_STATE_REAL_H
#define TARGET_RECORDER_STATE_REAL_H

#include "format/atomics.h"
#include "format/family.h"
#include "target/recorder/state/own.h"

struct hwr_real {
#define HWR_REAL(result, name, parameters, ...) result(*name) parameters;
	HW_FAMILY(HWR_REAL, HWR_REAL, HW_NO_ROW)
#undef HWR_REAL
};
extern struct hwr_real hwr_real HWR_OWN;

/* Fills hwr_real. Safe to call again. */
void hwr_real_find(void);

/* The definition of a function that comes after ours in the search order, or anywhere if none does;
 * NULL if there is none. *start and *end, if not NULL, receive the range of its module. */
void *hwr_real_symbol(const char *name, u64 *start, u64 *end);

/* The same, looked up once: *real keeps it. */
void *hwr_real_keep(void **real, const char *name);
static inline void *hwr_real_once(void **real, const char *name)
{
	void *found = load_relaxed(real);

	return likely(found != NULL) ? found : hwr_real_keep(real, name);
}

/* A function that this object defines for others: its first byte and its size. */
struct link_map;
bool hwr_real_function_in(const struct link_map *map, const char *name, u64 *start, u64 *bytes);

/* Whether ours is the first definition of the function, and the next one is in a file whose name
 * starts with this. */
bool hwr_real_comes_from(const char *name, const char *library);

#endif
