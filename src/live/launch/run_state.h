/* SPDX-License-Identifier: MIT
 * A run while it goes on, for run.c, which carries it out, and outcome.c, which says what became of
 * it. */
#ifndef LIVE_LAUNCH_RUN_STATE_H
#define LIVE_LAUNCH_RUN_STATE_H

#include "host/base/parts.h"
#include "live/control/control_server.h"
#include "live/launch/waiting_thread.h"
#include "live/program/program.h"
#include "live/program/valgrind.h"

struct run_result; /* run.h */

struct run {
	const struct run_options *options;
	struct run_result *result;
	struct program program;
	char recorder[PARTS_PATH];
	char preload[8200]; /* recorder, and with HW_RUN_LISP the library that knows ECL */
	struct valgrind valgrind;
	char name[256]; /* of the program, without folders */
	struct launch_signals signals;
	struct launch launch;
	struct berths berths;
	struct dumper dumper; /* the owner's, if it writes dumps */
	struct drain drain;
	struct process *root;
	struct waiting_thread waiting;
	struct control control;
	struct control_server server;
};

static inline bool has_flag(const struct run *self, u32 flag)
{
	return self->options->record.flags & flag;
}

/* ---- outcome.c: the drain thread has ended ---- */

void run_fill_result(struct run *self);

/* What the trace should say beside the events. */
void run_tell_notes(struct run *self);

/* Closes the traces, and notes their files. */
void run_release_processes(struct run *self);

#endif
