/* SPDX-License-Identifier: MIT
 * Blocks for a trace that is complete, or as complete as it will ever be. */
#ifndef HOST_TRACE_APPEND_H
#define HOST_TRACE_APPEND_H

#include "host/base/err.h"
#include "host/trace/blockfile.h"

/* Calls `append`, which may add blocks of these rows, and writes a new index. Nothing that is there
 * is rewritten; if it fails, the file is as it was. */
typedef int append_rows(struct block_file *file, const void *rows, u64 count, struct err *err);
int trace_append(const char *path, append_rows *append, const void *rows, u64 count,
		 struct err *err);

/* Appends the payload as a block of the whole file and empties it. ERR_MEMORY if it has failed. */
int append_payload(struct block_file *file, enum hw_block_type type, struct strbuf *payload,
		   u32 items, struct err *err);

#endif
