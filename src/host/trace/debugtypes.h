/* SPDX-License-Identifier: MIT
 * What the debug info of a program's files says of types, as the trace file keeps it, so that it
 * can be read where those files are not. Layout in docs/TRACE-FORMAT.md, "DEBUG_TYPES". */
#ifndef HOST_TRACE_DEBUGTYPES_H
#define HOST_TRACE_DEBUGTYPES_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

enum debug_type_sort {
	/* numbers are those of the trace file */
	DEBUG_TYPE_SIZED = 0, /* a type and its size */
	DEBUG_TYPE_CALL = 1,  /* what a call allocates */
};

struct debug_type {
	u64 size;         /* in bytes; of a call's 0 = unknown */
	u64 address;      /* of a call: in the module, of the byte before the return address */
	const char *name; /* with what it is in */
	u8 sort;          /* enum debug_type_sort */
	u8 rank;          /* of a sized type: enum type_rank of host/symbols/types/sizes.h */
};

/* One file that code came from. */
struct debug_types_file {
	const char *path;
	const u8 *build_id;
	u32 build_id_bytes;
	VEC(struct debug_type) rows;
};

struct debug_types { /* all zero = none */
	VEC(struct debug_types_file) files;
	struct arena arena;
};

/* Appends these and a new index to the trace at path, as trace_write_symbols does. */
int trace_write_debug_types(const char *path, const struct debug_types_file *files, u64 count,
			    struct err *err);

/* Of two blocks for one file the later ones only add. */
int trace_read_debug_types(const char *path, struct debug_types *types, struct err *err);
void debug_types_release(struct debug_types *types);

/* NULL = nothing is kept of that file. `types` may be NULL. */
const struct debug_types_file *debug_types_find(const struct debug_types *types, const char *path,
						const u8 *build_id, u32 build_id_bytes);

#endif
