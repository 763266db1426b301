/* SPDX-License-Identifier: MIT
 * Tables whose columns belong together: shared headings, joined cells, rules between rows. */
#ifndef OUTPUT_TEXT_GRID_H
#define OUTPUT_TEXT_GRID_H

#include "base/strbuf.h"
#include "output/result.h"

/* Appends headings and rows. The last column runs on to the edge; width 0 = no limit. */
void text_grid(const struct result *table, u32 width, struct strbuf *out);

#endif
