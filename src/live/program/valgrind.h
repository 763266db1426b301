/* SPDX-License-Identifier: MIT
 * How a program is run below Valgrind with our tool, which joins the session as the recorder
 * does. */
#ifndef LIVE_PROGRAM_VALGRIND_H
#define LIVE_PROGRAM_VALGRIND_H

#include "host/base/err.h"
#include "host/base/parts.h"
#include "format/types.h"

struct valgrind {
	char launcher[4096];     /* of the installed Valgrind */
	char folder[PARTS_PATH]; /* with the tool, for VALGRIND_LIB */
	char **argv;             /* of the launcher, with the program's behind it */
};

/* What of the run Valgrind itself has to know. */
struct valgrind_options {
	const char *program; /* path, or a name that PATH leads from to it */
	char *const *argv;   /* of the program, its name first */
	bool coverage;       /* note which bytes are accessed */
	bool functions;      /* calls of functions are of interest: routines, custom allocators */
};

/* ERR_INPUT if Valgrind, or our tool for it, is not there: err says what to install. `own_folder`
 * is where heapwise is. */
int valgrind_find(struct valgrind *self, const char *own_folder, struct err *err);

int valgrind_prepare(struct valgrind *self, const struct valgrind_options *options,
		     struct err *err);
void valgrind_release(struct valgrind *self);

#endif
