/* SPDX-License-Identifier: MIT
 * Which routines are recorded. Runs in the target. */
#ifndef TARGET_RECORDER_ROUTINE_WANTED_H
#define TARGET_RECORDER_ROUTINE_WANTED_H

#include "format/types.h"

/* calls of each routine that are recorded before any is left out */
enum { HWR_ROUTINE_CALLS_FIRST = 16 };

/* Makes room; false if there is none. */
bool hwr_wanted_attach(void);

/* Whether the filter lets the routine through; if so *calls, which may be NULL, is how often it was
 * called before. Announces its module, so that the monitor knows what its address means. */
bool hwr_wanted(u64 routine, u64 *calls);

/* Whether a routine that was met begins after `from` and before `to`. Looks at all of them. */
bool hwr_wanted_between(u64 from, u64 to);

#endif
