/* SPDX-License-Identifier: GPL-2.0-or-later
 * The session that is written to, as all of the tool sees it; session.c. Without one, or when the
 * monitor is gone, nothing is written. */
#ifndef TARGET_VALGRIND_STATE_H
#define TARGET_VALGRIND_STATE_H

#include "target/valgrind/tool.h"

extern struct hw_lobby *hwv_lobby;
extern struct hw_control *hwv_control; /* NULL = not recording */
extern struct hw_node *hwv_nodes;
extern u8 *hwv_module_log;
extern u32 hwv_recording; /* number of the recording in this process, from 1; see struct block */

/* Whether an event that allocates, or one that frees, is to be recorded now. */
Bool hwv_wants_allocation(void);
Bool hwv_wants_free(void);

static inline Bool hwv_has_flag(u32 flag) { return hwv_control && (hwv_control->flags & flag); }

void hwv_fault(enum hw_fault fault);

u64 hwv_monotonic_ns(void);

#endif
