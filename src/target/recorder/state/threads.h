/* SPDX-License-Identifier: MIT
 * Slots of threads, and whose object a hook may use. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_THREADS_H
#define TARGET_RECORDER_STATE_THREADS_H

#include "target/recorder/state/thread.h"

/* Gives the calling thread a slot and its memory. NULL, counted, if there is none. */
struct hwr_thread *hwr_thread_enter(void);

/* Where hwr_thread_is does not know: t, if the kernel says so, or the object of the thread that
 * shares t's storage; it gets one. NULL, counted, if there is none. */
struct hwr_thread *hwr_thread_at(struct hwr_thread *t, u64 sp);

/* The object for hooks inside hooks of thread t; NULL if it cannot be had. It may be in use too. */
struct hwr_thread *hwr_thread_nested(struct hwr_thread *t);

/* The hook that was at work will never come back: a signal handler jumped out of it. */
void hwr_thread_abandon(struct hwr_thread *t);

/* Forgets every slot, in a forked child that starts a recording of its own. */
void hwr_threads_reset(void);

/* ---- what a slot asks of others ---- */

/* Whether calls of known allocators are recorded that are linked into the program or into a plugin;
 * hooks/pools.c. */
bool hwr_pools_are_entries(void);

/* Another thread takes t over; routine/lanes.c. */
void hwr_routines_reset(struct hwr_thread *t);

/* What a forked child, which t went on in, takes with it: it is where its parent was. NULL =
 * nothing. */
struct hwr_routines *hwr_routines_leave(struct hwr_thread *t);

#endif
