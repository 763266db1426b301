/* SPDX-License-Identifier: GPL-2.0-or-later
 * The tool's place in the monitor's session: it joins as the recorder does, and writes events into one
 * ring per thread. Without a session, or when the monitor is gone, nothing is written. */
#ifndef TARGET_VALGRIND_SESSION_H
#define TARGET_VALGRIND_SESSION_H

#include "target/valgrind/tool.h"

extern struct hw_lobby *hwv_lobby;
extern struct hw_control *hwv_control; /* NULL = not recording */
extern struct hw_node *hwv_nodes;
extern u8 *hwv_module_log;
extern u32 hwv_recording; /* number of the recording in this process, from 1; see struct block */

/* Joins, when the process starts. */
void hwv_session_join(void);

/* In a forked child: joins a session of its own if the run has children recorded, when it first
 * allocates. */
void hwv_session_forked(void);

/* Whether an event that allocates, or one that frees, is to be recorded now. */
Bool hwv_wants_allocation(void);
Bool hwv_wants_free(void);

static inline Bool hwv_has_flag(u32 flag) { return hwv_control && (hwv_control->flags & flag); }

/* What the process executes next is not recorded; taken back if that fails. */
void hwv_count_exec(i32 step);

void hwv_fault(enum hw_fault fault);

/* Threads are numbered from 1 over the life of the process. */
void hwv_thread_started(ThreadId tid);
u32 hwv_thread_number(ThreadId tid);

/* Puts a record into the thread's ring; waits if that is full. */
void hwv_put(ThreadId tid, const struct hw_record *record);

/* Tells the monitor, if it sleeps, that there is something to read. */
void hwv_bell(void);

u64 hwv_monotonic_ns(void);

#endif
