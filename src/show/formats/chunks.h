/* SPDX-License-Identifier: MIT
 * What is known of one chunk, in one place for all formats that have a row for each. */
#ifndef SHOW_FORMATS_CHUNKS_H
#define SHOW_FORMATS_CHUNKS_H

#include "study/analysis/findings/findings.h"
#include "show/formats/export.h"

struct export_chunk {
	u64 chunk, address, size;
	u64 alloc_ns, free_ns; /* since the image began; free_ns only if it was freed */
	bool freed;            /* by a free, seen or implied */
	/* "freed", "implied", "kept", "exec", "live"; of a Lisp "collected", "live" */
	const char *end;
	const char *kind; /* "malloc", "new_array" … */
	const char *scan; /* "lost" …, NULL = nothing is known */
	u32 point;
	u32 free_context;
	u32 alloc_thread, free_thread; /* indexes */
	u64 others;                    /* freed: allocations of the thread in between */
	double weight;                 /* allocations that it stands for: 1 unless sampled */
	struct type_answer type;       /* confidence 0: unknown */
	bool has_access;
	struct chunk_access access;
};

/* False if there is no such chunk. */
bool export_chunk(const struct export_job *job, u64 chunk, struct export_chunk *out);

/* ns since the image began, of an access; 0 for none. */
u64 export_access_ns(const struct export_job *job, u64 ticks);

#endif
