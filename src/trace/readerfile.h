/* SPDX-License-Identifier: MIT
 * The inside of an open trace, for those in this room that read other blocks than the stream's. */
#ifndef TRACE_READERFILE_H
#define TRACE_READERFILE_H

#include "trace/blocklist.h"
#include "trace/reader.h"

struct block_list *reader_list(struct trace_reader *reader);
struct block_loader *reader_loader(struct trace_reader *reader);

#endif
