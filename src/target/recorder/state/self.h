/* SPDX-License-Identifier: MIT
 * The checking build (HWR_CHECK) compares every stack with the C runtime's unwinder, and can run
 * without a monitor, in a session of its own. Runs in the target; the shipped library has none of
 * it. */
#ifndef TARGET_RECORDER_STATE_SELF_H
#define TARGET_RECORDER_STATE_SELF_H

#include "format/types.h"

struct hw_slot;
struct hwr_caller;

#ifdef HWR_CHECK

/* Starts a private session if the environment has HEAPWISE_CHECK_SELF. */
bool hwr_self_session(void);

/* Compares the context of an event with the reference unwinder's stack. */
void hwr_self_check(u32 node, const struct hwr_caller *caller);

/* Stands in for the monitor in a private session: reads everything and keeps nothing. */
void hwr_self_drain(struct hw_slot *slot);

#else

static inline bool hwr_self_session(void) { return false; }
static inline void hwr_self_check(u32 node, const struct hwr_caller *caller)
{
	(void)node;
	(void)caller;
}
static inline void hwr_self_drain(struct hw_slot *slot) { (void)slot; }

#endif
#endif
