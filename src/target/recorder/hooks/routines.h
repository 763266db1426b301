/* SPDX-License-Identifier: MIT
 * Routines that begin and end, as code that was compiled with -finstrument-functions tells it. Runs
 * in the target. */
#ifndef TARGET_RECORDER_HOOKS_ROUTINES_H
#define TARGET_RECORDER_HOOKS_ROUTINES_H

/* Begins what the run asks for. */
void hwr_routines_attach(void);

#endif
