/* SPDX-License-Identifier: MIT
 * Texts in a given number of columns, made harmless (host/base/text.h): measuring and cutting. */
#ifndef HOST_BASE_TEXT_WIDTH_H
#define HOST_BASE_TEXT_WIDTH_H

#include "host/base/text.h"

/* Columns that a text takes: one per character. */
u32 text_columns(const char *text);

/* Appends the text, cut at the right with "…" to fit into `columns` (0 = no limit). */
void text_add_cut(struct strbuf *out, const char *text, u32 columns);

/* Appends a path, cut at the left with "…/" at a slash where possible. */
void text_add_path(struct strbuf *out, const char *path, u32 columns);

/* Appends a function's name: if it is too long, parameters become (…), then template arguments <…>,
 * outermost first; what is still too long is cut. */
void text_add_function(struct strbuf *out, const char *name, u32 columns);

void text_pad(struct strbuf *out, u32 columns);

#endif
