/* SPDX-License-Identifier: MIT
 * The inside of an open trace, for those in this room that read other blocks than the stream's. */
#ifndef HOST_TRACE_READERFILE_H
#define HOST_TRACE_READERFILE_H

#include "host/trace/blocklist.h"

struct trace_reader;

struct block_list *reader_list(struct trace_reader *reader);

/* Gives each block of this type that can be read to `use`, until that returns false: then there is
 * no memory. */
int reader_blocks(struct trace_reader *reader, u32 type,
		  bool (*use)(void *data, const u8 *payload, u64 bytes, u32 items), void *data,
		  struct err *err);

#endif
