/* SPDX-License-Identifier: MIT
 * Finds a program as the shell would, and tells whether the recorder can be loaded into it. */
#ifndef LIVE_PROGRAM_PROGRAM_H
#define LIVE_PROGRAM_PROGRAM_H

#include "host/base/err.h"
#include "format/types.h"

enum program_obstacle {
	/* why the recorder cannot be loaded */
	PROGRAM_RECORDABLE,
	PROGRAM_STATIC,
	PROGRAM_SETUID, /* or setgid, or file capabilities: the loader ignores LD_PRELOAD */
	PROGRAM_OTHER_MACHINE,
	PROGRAM_OTHER_RECORDER, /* one of another version is linked in */
	PROGRAM_SANITIZED,      /* its malloc has to be the first, and would be called by ours */
};

struct program {
	char path[4096];   /* as found */
	char binary[4096]; /* what runs in the end: the interpreter of a script, else path */
	enum program_obstacle obstacle;
	bool instrumented; /* made by heapwise cc */
	bool linked;       /* with libheapwise.a */
	bool musl;         /* its C library */
};

/* ERR_INPUT if there is no such program or it may not be executed. */
int program_find(struct program *self, const char *name, struct err *err);

/* Whether the file has the note of heapwise cc. */
bool program_is_instrumented(const char *path);

/* Whether it was linked with objects that are not instrumented. */
bool program_has_plain(const char *path);

/* A static program that is to have the recorder of another processor is an emulator: it loads the
 * recorder into the program that it runs. */
void program_take_emulator(struct program *self, const char *recorder);

/* Fills err with what stands in the way and what to do; returns its code. Only with an obstacle. */
int program_refuse(const struct program *self, struct err *err);

#endif
