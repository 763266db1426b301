/* SPDX-License-Identifier: MIT
 * How commands print results on stdout: the format that the user asked for, fitted to the
 * terminal. */
#ifndef SHOW_CLI_PRINT_H
#define SHOW_CLI_PRINT_H

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

#endif
