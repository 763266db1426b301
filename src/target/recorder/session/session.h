/* SPDX-License-Identifier: MIT
 * Joining the monitor's session, and leaving it. Runs in the target. */
#ifndef TARGET_RECORDER_SESSION_SESSION_H
#define TARGET_RECORDER_SESSION_SESSION_H

#include "target/recorder/state/state.h"

/* Called when a hook finds that nothing is recorded: joins the session on the first call of an
 * image, or of a forked child where children are recorded. True: hooks record (or are paused). */
bool hwr_session_join(void);

/* Follows the control page: pause, resume, stop, go on. Called now and then. */
void hwr_session_obey(void);

/* False, and the recorder is dormant, if the monitor has died. */
bool hwr_session_watched(void);

/* Forwards only, for good. */
void hwr_session_leave(void);

/* Tells the monitor which memory is the recorder's own, and what to know this process by;
 * exit.c. */
void hwr_tell_own_memory(void);

/* In an image that was exec'd under a limit on address space that an earlier image's recorder had made larger: as if this one
 * had set it, with what this recorder has mapped instead of that one; limits.c. */
void hwr_limits_take_over(const struct hw_lobby *lobby);

/* Takes a berth over: fills the globals of state.h and starts recording. */
bool hwr_session_attach(struct hw_control *control);

#endif
