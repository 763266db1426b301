/* SPDX-License-Identifier: MIT
 * What a process's recording does beside growing: it is saved, ends, begins again in another file,
 * pauses, goes on, has a snapshot taken. The program asks for that through its control page, others
 * through struct ask. Runs on the drain thread; opening and closing files is left to the waiting
 * thread (process.turn). */
#ifndef LIVE_RECORD_RECORDING_H
#define LIVE_RECORD_RECORDING_H

#include "live/record/process.h"

/* Looks at what was asked for, and goes on with what is being done. */
void recording_cycle(struct process *self, const struct session_options *options);

/* Whether nothing is being done, so that the process may be retired. */
bool recording_is_settled(const struct process *self);

/* Pauses or resumes all images of the process, with a mark. */
void recording_set_paused(struct process *self, bool paused);

#endif
