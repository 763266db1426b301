/* SPDX-License-Identifier: MIT
 * Who calls a hook. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_CALLER_H
#define TARGET_RECORDER_STATE_CALLER_H

#include "target/recorder/state/arch/arch.h"

/* Where a hook was called from. */
struct hwr_caller {
	u64 pc; /* return address */
	u64 sp; /* stack pointer before the call */
	u64 fp; /* frame pointer of the caller */
};

/* Of the function it is used in, which needs a frame pointer of its own. */
#define HWR_CALLER()                                                                               \
	((struct hwr_caller){                                                                      \
		.pc = hwr_strip((u64)__builtin_return_address(0)),                                 \
		.sp = (u64)__builtin_dwarf_cfa(),                                                  \
		.fp = *(const u64 *)__builtin_frame_address(0),                                    \
	})

/* A number for a call site at a stack depth. */
static inline u64 hwr_caller_hash(const struct hwr_caller *caller)
{
	return (caller->pc ^ (caller->sp << 20)) * 0x9e3779b97f4a7c15ull;
}

#endif
