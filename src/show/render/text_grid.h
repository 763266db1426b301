/* SPDX-License-Identifier: MIT
 * Tables whose columns belong together: shared headings, joined cells, rules between rows. */
#ifndef SHOW_RENDER_TEXT_GRID_H
#define SHOW_RENDER_TEXT_GRID_H

#include "host/base/strbuf.h"
#include "study/result/result.h"

/* Appends headings and rows. The last column runs on to the edge; width 0 = no limit. */
void text_grid(const struct result *table, u32 width, struct strbuf *out);

/* A text in that many columns, at their left or right end. */
void text_align(struct strbuf *line, const char *text, u32 width, bool left);

#endif
