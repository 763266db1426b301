/* SPDX-License-Identifier: MIT
 * A stopped thread of the program that is scanned. */
#ifndef LIVE_SCAN_THREAD_H
#define LIVE_SCAN_THREAD_H

#include "host/symbols/frames.h"

struct scan_thread {
	u32 tid;
	u64 stack_pointer;
	u64 thread_pointer;
	u64 code; /* where it is */
	u64 registers[40];
	const char *names[40]; /* of these */
	u32 register_count;
	/* for unwinding, if that is wanted */
	u64 numbered[FRAME_REGISTERS]; /* registers, as frames.h has them */
	u8 *stack;                     /* a copy, from the stack pointer on */
	u64 stack_bytes;
	struct frame *frames; /* from the innermost on */
	u32 frame_count;
};

#endif
