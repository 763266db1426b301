/* SPDX-License-Identifier: MIT
 * A block that is written column by column: the columns' lengths as varints, then the columns.
 * Columns are texts that grow; see accesses.h and types.h for what is in them. */
#ifndef TRACE_COLUMNS_H
#define TRACE_COLUMNS_H

#include "base/strbuf.h"

enum { COLUMNS_MAX = 16 };

/* Bytes of the block; those of its head and of each column go to part_bytes, which has room for one
 * more than there are columns. */
u64 columns_bytes(const struct strbuf *columns, u32 count, u32 *part_bytes);

/* Writes the block and empties the columns. */
void columns_finish(struct strbuf *columns, u32 count, u8 *out);

/* Whether there was no memory for one of them. */
bool columns_failed(const struct strbuf *columns, u32 count);

void columns_release(struct strbuf *columns, u32 count);

#endif
