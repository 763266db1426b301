/* SPDX-License-Identifier: MIT
 * Shows a line of a source file in the editor of whoever runs the server. No shell is asked: a
 * command is words, with blanks between, in which %f is the file and %l the line. */
#ifndef SHOW_SERVE_EDITOR_H
#define SHOW_SERVE_EDITOR_H

#include "host/base/err.h"
#include "format/types.h"

enum { EDITOR_WORDS = 16 };

struct editor {            /* all zero = none */
	const char *name;  /* as it was asked for */
	const char *words; /* the command */
};

#define EDITOR_NAMES "vim, emacs, code, clion, kate"

/* A name of EDITOR_NAMES, or a command with a %f; text must outlive it. ERR_USAGE if it is
 * neither. */
int editor_parse(struct editor *self, const char *text, struct err *err);

/* The words of the command for a file, to be freed with editor_words_free; false if there is no
 * memory. Ends with NULL. */
bool editor_words(const struct editor *self, const char *file, u64 line,
		  char *words[EDITOR_WORDS + 1]);
void editor_words_free(char *words[EDITOR_WORDS + 1]);

/* Starts it and does not wait for its end. */
int editor_show(const struct editor *self, const char *file, u64 line, struct err *err);

#endif
