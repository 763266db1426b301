/* SPDX-License-Identifier: MIT
 * What a user means by a first word that is no command: a trace, a program, or something else. */
#ifndef SHOW_CLI_MEANT_H
#define SHOW_CLI_MEANT_H

#include "show/cli/command.h"

enum meant { MEANT_NEITHER, MEANT_TRACE, MEANT_PROGRAM };

/* A trace is a file that begins as one, is called *.hwt, or a folder of such. A program is an
 * executable file that is named with a slash, as in a shell. */
enum meant meant_find(const char *word);

/* Says on stderr why the word is none of that and what may have been meant. Returns the exit
 * status. */
int meant_explain(const char *word);

/* The same for a word after the command `above`. */
int meant_explain_below(const struct command *above, const char *word);

#endif
