/* SPDX-License-Identifier: GPL-2.0-or-later
 * Custom allocators (--alloc-fn, --free-fn), as src/target/recorder/pool/ records them: what their
 * functions give and take are events; blocks of malloc's that they get meanwhile are held, and no
 * events. */
#ifndef TARGET_VALGRIND_POOL_H
#define TARGET_VALGRIND_POOL_H

#include <pub_tool_tooliface.h>

#include "target/valgrind/state.h"

static inline Bool hwv_wants_pools(void) { return hwv_control && hwv_control->pools_count; }

/* Before the first instruction of a block of code, at `address`; and at its end. */
void hwv_pool_begins(IRSB *out, const VexGuestLayout *layout, Addr address);
void hwv_pool_ends(IRSB *out, const VexGuestLayout *layout);

/* A thread number is used again. */
void hwv_pools_reset(ThreadId tid);

/* Whether the thread is inside a custom allocator. */
Bool hwv_pool_inside(ThreadId tid);

/* Whether a pool has given this address away; drop: and takes it back. */
Bool hwv_pool_has(Addr address);
Bool hwv_pool_drop(Addr address);

#endif
