/* SPDX-License-Identifier: MIT
 * Frames that a walk has found, t->fresh, and their nodes. Runs in the target. */
#ifndef TARGET_RECORDER_UNWIND_FRESH_H
#define TARGET_RECORDER_UNWIND_FRESH_H

#include "target/recorder/state/caller.h"
#include "target/recorder/state/thread.h"

/* Looks the fresh frames up by their hashes, from the outside in, in three passes: so that all
 * their buckets, and then all their nodes, come from memory at the same time. The third is the
 * caller's. */
void hwr_fresh_look_up(struct hwr_thread *t, u32 count, u64 hash);

/* Node of t->fresh[0 … count), of which the PCs count, innermost first; not kept for the next walk.
 * cut: outer frames are missing. */
u32 hwr_stack_node(struct hwr_thread *t, u32 count, bool cut);

/* Walks with the general unwinder, from this very function outwards, through the recorder's own
 * frames to the caller and beyond. */
u32 hwr_walk_slowly(struct hwr_thread *t, const struct hwr_caller *caller, u32 max_depth);

/* Where contexts are made of routines a walk only says which stack the thread is on. */
static inline void hwr_walk_fault(const struct hwr_thread *t, enum hw_fault fault)
{
	if (!(t->run_flags & HW_RUN_ROUTINE_STACKS))
		hwr_fault(fault);
}

#endif
