/* SPDX-License-Identifier: MIT
 * Blocks for a trace that is complete, or as complete as it will ever be. */
#ifndef HOST_TRACE_APPEND_H
#define HOST_TRACE_APPEND_H

#include "host/base/err.h"
#include "host/trace/blockfile.h"

/* Calls `append`, which may add blocks, and writes a new index. Nothing that is there is rewritten;
 * if it fails, the file is as it was. */
int trace_append(const char *path,
		 int (*append)(struct block_file *file, void *data, struct err *err), void *data,
		 struct err *err);

#endif
