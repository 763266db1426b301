/* SPDX-License-Identifier: MIT
 * How commands print results on stdout: the format that the user asked for, fitted to the
 * terminal. */
#ifndef SHOW_CLI_PRINT_H
#define SHOW_CLI_PRINT_H

#include "show/cli/command.h"
#include "show/render/render.h"

#define FORMAT_CHOICES "text|json|csv"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

/* word is one of FORMAT_CHOICES; NULL = text. */
enum format format_parse(const char *word);

/* Colour only on a terminal and without NO_COLOR; the terminal's width, or 100 columns
 * elsewhere. */
struct text_style print_style(void);

/* Before a command prints anything on stdout: takes progress away, and starts the pager. */
void print_begin(void);

void print_result(const struct result *result, enum format format);

/* The same for a result that is all that a command makes, which is freed; NULL: there was no
 * memory. Returns the exit status. */
int print_made(const struct command *command, struct result *result, enum format format);

/* ---- progress ----
 * A line on the terminal that says what a command does, if that takes more than a second: "reading
 * my.hwt: 45 %". It goes away before anything is printed. Nothing happens unless standard error is
 * a terminal. */

/* What is done now: "reading", and to what. The path is kept until the next call. */
void progress_phase(const char *doing, const char *path);

/* How much of it, 0 to 1; fits the callbacks of rooms that read. */
void progress_share(void *unused, double share);

/* Before anything is printed. Any number of times. */
void progress_end(void);

#endif
