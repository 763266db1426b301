/* SPDX-License-Identifier: GPL-2.0-or-later
 * The tool's place in the monitor's session: it joins as the recorder does. */
#ifndef TARGET_VALGRIND_SESSION_H
#define TARGET_VALGRIND_SESSION_H

#include "target/valgrind/tool.h"

/* Joins, when the process starts. */
void hwv_session_join(void);

/* In a forked child: joins a session of its own if the run has children recorded, when it first
 * allocates. */
void hwv_session_forked(void);

/* What the process executes next is not recorded; taken back if that fails. */
void hwv_count_exec(i32 step);

#endif
