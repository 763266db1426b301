/* SPDX-License-Identifier: GPL-2.0-or-later
 * The malloc family, served by Valgrind's allocator, and the events that it causes. */
#ifndef TARGET_VALGRIND_HEAP_H
#define TARGET_VALGRIND_HEAP_H

#include "target/valgrind/tool.h"

/* Registers the functions. */
void hwv_heap_init(void);

/* Tells what is known of the accesses to every live block: the process ends, or is about to become
 * another program. */
void hwv_heap_tell_accesses(ThreadId tid);

#endif
