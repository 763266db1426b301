/* SPDX-License-Identifier: MIT
 * Recognises programs that manage memory by themselves, so that malloc sees little of it, and says
 * what helps. */
#ifndef LIVE_PROGRAM_HINT_H
#define LIVE_PROGRAM_HINT_H

#include "format/types.h"

enum runtime {
	RUNTIME_NONE,
	RUNTIME_PYTHON,
	RUNTIME_GO,
	RUNTIME_JVM,
	RUNTIME_V8,
	RUNTIME_PHP,
	RUNTIME_BOEHM,
	RUNTIME_HIDDEN_MALLOC, /* a library has one for itself */
	RUNTIME_OWN_PAGES,     /* most memory was mapped by the program itself */
	RUNTIME_OWN_MALLOC, /* the program itself defines malloc: an allocator is linked into it */
};

/* By the file name of a program or library alone. */
enum runtime runtime_of_module(const char *path);

/* By sections of the executable: Go programs have no telling name. Reads the file. */
enum runtime runtime_of_program(const char *path);

/* The same of a program of which nothing was seen: also by its symbols, which may be many. */
enum runtime runtime_of_unseen(const char *path);

/* Whether a library has a malloc that others do not see, and so calls it without passing the
 * recorder. Reads the file's symbols, if it has any. */
bool library_hides_malloc(const char *path);

/* A sentence, or "" where there is nothing to say. */
const char *runtime_hint(enum runtime runtime);

#endif
