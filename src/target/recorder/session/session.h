/* SPDX-License-Identifier: MIT
 * Joining the monitor's session, and leaving it. Runs in the target. */
#ifndef TARGET_RECORDER_SESSION_SESSION_H
#define TARGET_RECORDER_SESSION_SESSION_H

#include "target/recorder/state/state.h"

/* Tells the monitor which memory is the recorder's own, and what to know this process by;
 * exit.c. */
void hwr_tell_own_memory(void);

/* Where the monitor sends a thread; format/arch/fork.h. Never called. */
void hwr_fork(void);

/* In an image that was exec'd under a limit on address space that an earlier image's recorder had
 * made larger: as if this one had set it, with what this recorder has mapped instead of that one;
 * limits.c. */
void hwr_limits_take_over(const struct hw_lobby *lobby);

/* A recording with HW_RUN_LISP has a module of named functions; runtime.c. */
void hwr_runtime_attach(void);

/* Takes a berth over: fills the globals of state.h and starts recording. */
bool hwr_session_attach(struct hw_control *control);

#endif
