/* SPDX-License-Identifier: MIT
 * The frames of a thread that stood still, by its registers, a copy of its stack, and the unwind
 * tables in the files of the modules. The program itself may have gone on. */
#ifndef HOST_SYMBOLS_FRAMES_H
#define HOST_SYMBOLS_FRAMES_H

#include "format/types.h"

enum { FRAME_REGISTERS = 33 }; /* by their numbers in DWARF */

struct frames_module {
	const char *path;
	u64 start, end; /* where it is mapped */
	u64 base;       /* what is added to the addresses in the file */
};

struct frames_thread {
	u64 registers[FRAME_REGISTERS];
	u64 code, stack_pointer;
	u32 stack_register; /* number of the stack pointer */
	u64 stack_start;    /* of the copy */
	const u8 *stack;
	u64 stack_bytes;
};

struct frame {
	u64 start; /* stack pointer in it: where it begins */
	u64 code;  /* an address in its function; 0 = unknown */
};

struct frames; /* modules that are open */

/* By address; they must outlive it. NULL without memory. */
struct frames *frames_new(const struct frames_module *modules, u64 count);
void frames_free(struct frames *self);

/* The frames from the innermost on, at most `max`, each of which ends where the next one begins:
 * their number, at least 1. If the last one is not the outermost its code is 0: it stands for all
 * that are further out. */
u32 frames_find(struct frames *self, const struct frames_thread *thread, struct frame *found,
		u32 max);

/* Makes of the thread what it is in the innermost frame outside of some modules, or in the
 * outermost frame: a register that is not known is 0. False, and nothing is changed, if the tables
 * do not lead there. */
bool frames_leave(struct frames *self, struct frames_thread *thread,
		  bool (*is_left)(const char *path));

#endif
