/* SPDX-License-Identifier: GPL-2.0-or-later
 * The calling-context tree in the berth. */
#ifndef TARGET_VALGRIND_TREE_H
#define TARGET_VALGRIND_TREE_H

#include "target/valgrind/tool.h"

void hwv_tree_reset(void);

/* The node of (parent, pc); 0 if there is none. */
u32 hwv_tree_find(u32 parent, u64 pc);

/* Makes it; 0 if the table is full. */
u32 hwv_tree_make(u32 parent, u64 pc);

#endif
