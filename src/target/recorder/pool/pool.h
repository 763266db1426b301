/* SPDX-License-Identifier: MIT
 * What is recorded of custom allocators: functions of the program, named by the user, that allocate
 * and free. Runs in the target, on the careful path, and there only with HWR_POOLS.
 *
 * Their calls (hooks/pools.c) are recorded as HW_POOL and HW_POOL_FREE. What they get from malloc
 * to serve them is the same memory and not recorded: such blocks are *held*, wherever they are
 * freed. */
#ifndef TARGET_RECORDER_POOL_POOL_H
#define TARGET_RECORDER_POOL_POOL_H

#include "target/recorder/state/caller.h"
#include "target/recorder/state/thread.h"

enum { HWR_POOL_WITNESSES = 8 }; /* of hwr_thread.pool_witness */

/* Whether the hook called from `caller` is inside a custom allocator. */
bool hwr_pool_inside(struct hwr_thread *t, const struct hwr_caller *caller);

/* A block was allocated, 0 = in vain. True: it is not to be recorded. Addresses of pools' blocks,
 * here and below, have HW_POOL_ADDRESS. */
bool hwr_pool_keeps(struct hwr_thread *t, const struct hwr_caller *caller, u32 kind, u64 address);

/* A block is about to be freed. False: it is not to be recorded. The block may be a pool's after
 * all; then kind and address become those. */
bool hwr_pool_ends(struct hwr_thread *t, const struct hwr_caller *caller, u32 *kind, u64 *address);

/* A realloc gave p (0 = it freed) for old. True: p is not to be recorded, and nothing of old but
 * *ended, the pool's block that this ends, 0 = none. */
bool hwr_pool_realloc(struct hwr_thread *t, const struct hwr_caller *caller, u64 old, u64 p,
		      u64 *ended);

#endif
