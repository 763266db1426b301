/* SPDX-License-Identifier: MIT
 * Custom allocators: functions of the program, named by the user, that allocate and free. Runs in the
 * target.
 *
 * Their calls are recorded as HW_POOL and HW_POOL_FREE. What they get from malloc to serve them is the
 * same memory and not recorded: such blocks are *held*, wherever they are freed. */
#ifndef TARGET_RECORDER_POOL_POOL_H
#define TARGET_RECORDER_POOL_POOL_H

#include "target/recorder/hooks/note.h"

/* Begins what the run asks for: finds the functions and stands in front of them. */
void hwr_pools_attach(void);

/* A module may have come: looks for functions that are in it. To be called by the thread that loads. */
void hwr_pools_look(void);

/* Modules have gone: those that come may be at their addresses. */
void hwr_pools_forget(void);

/* ---- known allocators, for entries.c ---- */

struct hw_entry;

/* Functions of one module follow. interposed: our hooks stand before its malloc, so that calls from inside it
 * are those of hooks. */
void hwr_pool_module(bool interposed);
void hwr_pool_entry(const struct hw_entry *entry, u32 number, u64 start, u64 bytes);
void hwr_pool_module_end(void);

/* Whether calls of known allocators are recorded that are linked into the program or into a plugin. */
bool hwr_pools_are_entries(void);

/* What to call to call a function without being noticed. */
u64 hwr_pool_past(u64 function);

/* ---- for the careful path; only with HWR_POOLS ---- */

/* Whether the hook called from `caller` is inside a custom allocator. */
bool hwr_pool_inside(struct hwr_thread *t, const struct hwr_caller *caller);

/* A block was allocated, 0 = in vain. True: it is not to be recorded. Addresses of pools' blocks, here and
 * below, have HW_POOL_ADDRESS. */
bool hwr_pool_keeps(const struct hwr_call *call, u32 kind, u64 address);

/* A block is about to be freed. False: it is not to be recorded. The block may be a pool's after all; then
 * kind and address become those. */
bool hwr_pool_ends(const struct hwr_call *call, u32 *kind, u64 *address);

/* A realloc gave p (0 = it freed) for old. True: p is not to be recorded, and nothing of old but *ended, the
 * pool's block that this ends, 0 = none. */
bool hwr_pool_realloc(const struct hwr_call *call, u64 old, u64 p, u64 *ended);

#endif
