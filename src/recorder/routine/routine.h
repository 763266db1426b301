/* SPDX-License-Identifier: MIT
 * Routines that begin and end, as code that was compiled with -finstrument-functions tells it. Runs in the
 * target. */
#ifndef RECORDER_ROUTINE_ROUTINE_H
#define RECORDER_ROUTINE_ROUTINE_H

#include "recorder/thread.h"

/* Begins what the run asks for. */
void hwr_routines_attach(void);

/* Another thread takes t over. */
void hwr_routines_reset(struct hwr_thread *t);

/* ---- which routines are recorded, wanted.c ---- */

enum { HWR_ROUTINE_CALLS_FIRST = 16 }; /* calls of each routine that are recorded before any is left out */

/* Makes room; false if there is none. */
bool hwr_wanted_attach(void);

/* Whether the filter lets the routine through; if so *calls, which may be NULL, is how often it was
 * called before. Announces its module, so that the monitor knows what its address means. */
bool hwr_wanted(u64 routine, u64 *calls);

#endif
