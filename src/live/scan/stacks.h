/* SPDX-License-Identifier: MIT
 * The frames on the stacks of a program that is scanned: stacks are copied while it stands still,
 * and unwound when it runs again. */
#ifndef LIVE_SCAN_STACKS_H
#define LIVE_SCAN_STACKS_H

#include "live/scan/memory.h"
#include "live/scan/modules.h"
#include "live/scan/thread.h"

/* Of a thread that ends the program neither what is left of the C library's frames is in use, nor
 * its registers: its caller's are. Nothing changes where the frames are not known. Of one that
 * waits in the C library's code for the kernel the red zone is not in use. */
void scan_stacks_leave(struct scan_memory *memory, const struct scan_modules *from,
		       struct scan_thread *threads, u64 count);

/* Copies what is in use of each stack, up to a limit. One that cannot be has no frames. */
void scan_stacks_copy(struct scan_memory *memory, struct scan_thread *threads, u64 count);

/* Finds the frames, and drops the copies. Of what cannot be unwound there are none. */
void scan_stacks_unwind(const struct scan_modules *from, struct scan_thread *threads, u64 count);

void scan_stacks_release(struct scan_thread *threads, u64 count);

#endif
