/* SPDX-License-Identifier: MIT
 * A stopped thread of the program that is scanned. */
#ifndef LIVE_SCAN_THREAD_H
#define LIVE_SCAN_THREAD_H

#include "host/symbols/frames.h"

struct scan_thread {
	u32 tid;
	u64 stack_pointer;
	u64 stack_used; /* what lies below was left behind by calls that are over */
	u64 thread_pointer;
	u64 code;         /* where it is */
	bool ends, waits; /* in a system call: that of its end, or another */
	u64 registers[40];
	const char *names[40]; /* of these */
	u8 numbers[40];        /* in `numbered` */
	u32 register_count;
	u64 numbered[FRAME_REGISTERS]; /* those for unwinding, as frames.h has them */
	u8 *stack;                     /* a copy, from the stack pointer on */
	u64 stack_bytes;
	struct frame *frames; /* from the innermost on */
	u32 frame_count;
};

#endif
