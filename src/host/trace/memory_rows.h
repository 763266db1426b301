/* SPDX-License-Identifier: MIT
 * What a memory fact says beyond its fields: where memory is resident, and the blocks in caches of
 * threads. */
#ifndef HOST_TRACE_MEMORY_ROWS_H
#define HOST_TRACE_MEMORY_ROWS_H

#include "host/base/strbuf.h"
#include "host/trace/cursor.h"
#include "host/trace/stream.h"

/* Only rows that its reader takes, and at most so many of each kind. */
enum { MEMORY_ROWS = 1 << 16 };
void memory_rows_put(struct strbuf *body, const struct stream_memory *memory);

/* The rows live as long as the arena. 0, also if the cursor has become bad; or ERR_MEMORY. */
int memory_rows_get(struct stream_memory *memory, struct cursor *in, struct arena *arena,
		    struct err *err);

#endif
