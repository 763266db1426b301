/* SPDX-License-Identifier: MIT
 * Calls inside calls: operator new calls malloc, and only one of them is an allocation. Runs in the
 * target. */
#ifndef TARGET_RECORDER_HOOKS_SUPPRESS_H
#define TARGET_RECORDER_HOOKS_SUPPRESS_H

#include "target/recorder/hooks/note.h"

/* Whether the hook called from `caller` is inside a call of t that is recorded as a whole. */
bool hwr_suppressed(struct hwr_thread *t, const struct hwr_caller *caller);

#endif
