/* SPDX-License-Identifier: MIT
 * A stopped thread of the program that is scanned. */
#ifndef LIVE_SCAN_THREAD_H
#define LIVE_SCAN_THREAD_H

#include "format/types.h"

struct scan_thread {
	u32 tid;
	u64 stack_pointer;
	u64 thread_pointer;
	u64 code; /* where it is */
	u64 registers[40];
	const char *names[40]; /* of these */
	u32 register_count;
};

#endif
