/* SPDX-License-Identifier: GPL-2.0-or-later
 * Routines that begin and end: found by the program's symbols when its code is translated. */
#ifndef TARGET_VALGRIND_ROUTINE_H
#define TARGET_VALGRIND_ROUTINE_H

#include <pub_tool_tooliface.h>

#include "target/valgrind/state.h"

/* Whether the run wants routines. */
static inline Bool hwv_wants_routines(void) { return hwv_has_flag(HW_RUN_ROUTINES); }

/* 1 = control came by a call; written by translated code, cleared by whoever was waiting for it. */
extern UInt hwv_called;

/* Before the first instruction of a block of code, at `address`. */
void hwv_routine_begins(IRSB *out, const VexGuestLayout *layout, Addr address);

/* At the end of a block of code: returns, and calls, which pools want to know of, too. */
void hwv_routine_ends(IRSB *out, const VexGuestLayout *layout);
void hwv_routine_calls(IRSB *out);

/* A thread number is used again. */
void hwv_routines_reset(ThreadId tid);

#endif
