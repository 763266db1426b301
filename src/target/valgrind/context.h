/* SPDX-License-Identifier: GPL-2.0-or-later
 * Stacks as nodes of the calling-context tree in the berth. */
#ifndef TARGET_VALGRIND_CONTEXT_H
#define TARGET_VALGRIND_CONTEXT_H

#include "target/valgrind/tool.h"

/* The context of the allocator call that the thread is in. */
u32 hwv_context_of(ThreadId tid);

#endif
