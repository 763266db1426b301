/* SPDX-License-Identifier: MIT
 * A set of addresses, for blocks of custom allocators and for what they hold. Runs in the target;
 * lock-free. */
#ifndef TARGET_RECORDER_POOL_HELD_H
#define TARGET_RECORDER_POOL_HELD_H

#include "format/types.h"

/* A block that a pool uses up; without it, a block that a pool has given away. */
#define HWR_HELD ((u64)1 << 62)

/* False: there is no memory for the set. Safe to call again. */
bool hwr_held_init(void);

/* False: the set is full. */
bool hwr_held_add(u64 key);

/* Removes it; false if it was not there. */
bool hwr_held_drop(u64 key);

#endif
