/* SPDX-License-Identifier: MIT
 * Routines that begin and end, as code that was compiled with -finstrument-functions tells it. Runs in the
 * target. */
#ifndef TARGET_RECORDER_HOOKS_ROUTINES_H
#define TARGET_RECORDER_HOOKS_ROUTINES_H

#include "target/recorder/state/thread.h"

struct hwr_caller;

/* Begins what the run asks for. */
void hwr_routines_attach(void);

/* Another thread takes t over. */
void hwr_routines_reset(struct hwr_thread *t);

/* What a forked child, which t went on in, takes with it: it is where its parent was. NULL = nothing. */
struct hwr_routines *hwr_routines_leave(struct hwr_thread *t);

/* The calling context of an event, made of the routines that have begun; see stack.c. */
u32 hwr_routine_context(struct hwr_thread *t, const struct hwr_caller *caller);

/* ---- which routines are recorded, wanted.c ---- */

enum { HWR_ROUTINE_CALLS_FIRST = 16 }; /* calls of each routine that are recorded before any is left out */

/* Makes room; false if there is none. */
bool hwr_wanted_attach(void);

/* Whether the filter lets the routine through; if so *calls, which may be NULL, is how often it was
 * called before. Announces its module, so that the monitor knows what its address means. */
bool hwr_wanted(u64 routine, u64 *calls);

/* Whether a routine that was met begins after `from` and before `to`. Looks at all of them. */
bool hwr_wanted_between(u64 from, u64 to);

#endif
