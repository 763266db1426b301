/* SPDX-License-Identifier: MIT
 * The inside of an open trace, for those in this room that read other blocks than the stream's. */
#ifndef HOST_TRACE_READERFILE_H
#define HOST_TRACE_READERFILE_H

#include "host/trace/blocklist.h"

struct trace_reader;

struct block_list *reader_list(struct trace_reader *reader);

/* Gives each block of this type of the file that can be read to `use`, until that returns false:
 * then there is no memory. A damaged block is skipped: trace_read counts it. */
int trace_blocks(const char *path, u32 type, bool (*use)(void *data, const struct block *block),
		 void *data, struct err *err);

#endif
