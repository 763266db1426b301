/* SPDX-License-Identifier: MIT
 * The stacks of routines of a thread. Runs in the target.
 *
 * A coroutine or a handler may run on another stack, where stack pointers say nothing of these. A
 * stack is known by where its outermost frame is, which is looked for when the stack pointer has
 * moved upwards or further down than a call does; each has a *lane* of its own. */
#ifndef TARGET_RECORDER_ROUTINE_LANES_H
#define TARGET_RECORDER_ROUTINE_LANES_H

#include "target/recorder/state/thread.h"
#include "target/recorder/state/caller.h"

enum {
	HWR_LANES = 16,
	HWR_LANE_DEPTH = 32768,
	HWR_CALL_BYTES = 4096, /* a call that moves the stack pointer further is looked at */
};

struct hwr_entry {
	u64 routine, site;
	u64 pc, sp; /* where it told that it began, and the stack pointer there */
	u64 top;    /* of its frame, the first byte of its caller's */
	u64 slot;   /* where its frame has the return address; 0 = unknown */

	/* The context of the call that it is in, see stack.c: made for `epoch`, 0 = not yet. */
	u64 hash;
	u32 node, frames;
	u32 epoch;

	u8 mode; /* see hooks/routines.c */
	u8 told; /* its beginning was recorded */
};

struct hwr_lane {
	/* of the stack: its outermost frame; + 1 of handlers on an alternate one; 0 = unknown */
	u64 base;
	u32 depth;
	u32 too_deep; /* entries that found no room */
	struct hwr_lane
		*below; /* what a handler on an alternate stack has interrupted; NULL = unknown */
	u64 below_base; /* its base then */
	struct hwr_entry entries[HWR_LANE_DEPTH];
};

struct hwr_routines {
	struct hwr_lane *lane; /* of the stack that the thread was last seen on */
	struct hwr_lane *lanes[HWR_LANES];
	u32 turn; /* which lane is given up next, if all are in use */
};

static inline struct hwr_entry *hwr_lane_last(struct hwr_lane *lane)
{
	return lane->depth ? &lane->entries[lane->depth - 1] : NULL;
}

/* The lane of the calling stack; NULL without memory. */
struct hwr_lane *hwr_lane_of(struct hwr_thread *t, const struct hwr_caller *caller);

/* Where the frame of a routine that begins, or ends, ends. *slot: where its return address is, 0 =
 * unknown. */
u64 hwr_frame_top(struct hwr_thread *t, const struct hwr_caller *caller, u64 site,
		  const struct hwr_lane *lane, u64 *slot);

/* The word at `slot` of the calling stack, stripped; false if there may be none. */
bool hwr_lane_reads(const struct hwr_caller *caller, u64 slot, u64 *value);

/* Takes the last entry away, and records that (enum hw_leave) if its beginning was. */
void hwr_lane_pop(struct hwr_thread *t, const struct hwr_caller *caller, struct hwr_lane *lane,
		  u32 how);

#endif
