/* SPDX-License-Identifier: MIT
 * What is between a caller and a function that a detour was put in front of. Runs in the target.
 *
 * Compilers know which registers a function of the same file changes, and keep values in the others
 * across its calls, whatever the convention says. So all of them are saved, before and after. */
#ifndef TARGET_RECORDER_POOL_THUNK_H
#define TARGET_RECORDER_POOL_THUNK_H

#include "format/types.h"
#include "target/recorder/pool/arch/arch.h"

/* In the stack frame of a call. Offsets are known to thunk_arch.S. */
struct hwr_thunk_frame {
	u64 real; /* filled in by hwr_thunk_before: what to call */
	u64 integer[HWR_THUNK_INTEGERS];
	u64 state[HWR_THUNK_STATE]; /* for the functions below */
} __attribute__((aligned(16)));
_Static_assert(sizeof(struct hwr_thunk_frame) == HWR_THUNK_VECTORS, "vectors follow it");

/* Register with the number of an argument, or of the result before the call and after it. */
u64 hwr_thunk_argument(const struct hwr_thunk_frame *frame, u32 number);
u64 hwr_thunk_result(const struct hwr_thunk_frame *frame);

/* Where the pads go; with the site's number, see detour_arch.c. */
void hwr_thunk(void);

/* Called by it: pc, sp, fp of the caller are at `caller`. */
struct hwr_caller;
void hwr_thunk_before(struct hwr_thunk_frame *frame, u64 site, const struct hwr_caller *caller);
void hwr_thunk_after(struct hwr_thunk_frame *frame);

#endif
