/* SPDX-License-Identifier: MIT
 * What the program asks of its monitor, and the names that it gives. Runs in the target, in calls
 * of the public API only: these wait, bounded, and no hook ever calls them. */
#ifndef TARGET_RECORDER_SESSION_CONTROL_H
#define TARGET_RECORDER_SESSION_CONTROL_H

#include "target/recorder/state/state.h"

/* Makes a request and waits for its answer. Returns 0 or an errno: ETIMEDOUT after 10 s, EBUSY if
 * another request is under way for as long (or was interrupted by the signal handler that makes
 * this one), ENOTCONN if nobody answers. path is for HW_REQUEST_RESTART, else NULL. */
int hwr_request(enum hw_request_verb verb, const char *path);

/* The number of a name, for the address of a mark; 0 if there is no room for another one. */
u32 hwr_name(const char *text);

#endif
