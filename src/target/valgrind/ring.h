/* SPDX-License-Identifier: GPL-2.0-or-later
 * The rings, one per thread, and waiting for the monitor. */
#ifndef TARGET_VALGRIND_RING_H
#define TARGET_VALGRIND_RING_H

#include "target/valgrind/tool.h"

/* Finds the rings of a berth that was just mapped; no thread has been announced in it. */
void hwv_rings_open(void);

/* Threads are numbered from 1 over the life of the process. */
void hwv_thread_started(ThreadId tid);
u32 hwv_thread_number(ThreadId tid);

/* Puts a record into the thread's ring; waits if that is full. */
void hwv_put(ThreadId tid, const struct hw_record *record);

/* Tells the monitor, if it sleeps, that there is something to read. */
void hwv_bell(void);

void hwv_futex_wait(u32 *word, u32 value, u64 timeout_ns);
void hwv_futex_wake(u32 *word);

#endif
