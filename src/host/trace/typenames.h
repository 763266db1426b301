/* SPDX-License-Identifier: MIT
 * Names of the identities of types (struct stream_type), as the trace file keeps them. */
#ifndef HOST_TRACE_TYPENAMES_H
#define HOST_TRACE_TYPENAMES_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

#define TYPE_NO_MODULE UINT32_MAX

struct type_name {
	u32 image;  /* stream_image.number */
	u32 module; /* that the identity lies in, or TYPE_NO_MODULE */
	u64 identity;
	const char *name;
};

/* Appends names and a new index to the trace at path, as trace_write_symbols does. */
int trace_write_type_names(const char *path, const struct type_name *rows, u64 count,
			   struct err *err);

struct type_names { /* all zero = none */
	/* as they stand in the file: of two for one identity the later is right */
	VEC(struct type_name) rows;
	struct arena arena;
};

int trace_read_type_names(const char *path, struct type_names *names, struct err *err);
void type_names_release(struct type_names *names);

#endif
