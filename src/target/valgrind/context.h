/* SPDX-License-Identifier: GPL-2.0-or-later
 * Stacks as nodes of the calling-context tree in the berth. */
#ifndef TARGET_VALGRIND_CONTEXT_H
#define TARGET_VALGRIND_CONTEXT_H

#include "target/valgrind/session.h"

void hwv_contexts_reset(void);

/* The node of (parent, pc), made if it is new; 0 if the table is full. */
u32 hwv_context_child(u32 parent, u64 pc);

/* The context of the allocator call that the thread is in. */
u32 hwv_context_of(ThreadId tid);

#endif
