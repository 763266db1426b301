/* SPDX-License-Identifier: MIT
 * Calling contexts made of the routines that have begun, for code that cannot be unwound. Runs in
 * the target. */
#ifndef TARGET_RECORDER_ROUTINE_STACK_H
#define TARGET_RECORDER_ROUTINE_STACK_H

#include "format/types.h"

struct hwr_caller;
struct hwr_thread;

/* The calling context of an event. */
u32 hwr_routine_context(struct hwr_thread *t, const struct hwr_caller *caller);

#endif
