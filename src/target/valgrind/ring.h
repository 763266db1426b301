/* SPDX-License-Identifier: GPL-2.0-or-later
 * The rings, one per thread, and waiting for the monitor. */
#ifndef TARGET_VALGRIND_RING_H
#define TARGET_VALGRIND_RING_H

#include "target/valgrind/session.h"

/* Finds the rings of a berth that was just mapped; no thread has been announced in it. */
void hwv_rings_open(void);

void hwv_futex_wait(u32 *word, u32 value, u64 timeout_ns);
void hwv_futex_wake(u32 *word);

#endif
