/* SPDX-License-Identifier: MIT
 * Other people's formats that go both ways: what a writer of one gets. formats.c has the table of
 * all. */
#ifndef SHOW_FORMATS_EXCHANGE_H
#define SHOW_FORMATS_EXCHANGE_H

#include <stdio.h>

#include "study/model/model.h"
#include "host/trace/symtab.h"

struct heaplog_options; /* heaplog.h */

/* Types of chunks that nobody told with the chunk, by whoever can find them out. */
struct exchange_type {
	const char *name;
	u64 count; /* elements, 0 = unknown */
};

struct exchange_types {
	void *self;
	/* False if what was told with the chunk, or nothing, is all that is known. NULL = nobody
	 * finds types out. */
	bool (*find)(void *self, u64 chunk, struct exchange_type *type);
};

/* One image of a trace, loaded; what a model does not keep is read from the file. */
struct exchange_job {
	const char *path;
	u32 image; /* counted from 0 in the file */
	const struct model *model;
	const struct symbol_table *symbols;
	struct exchange_types types;
	const char *output; /* file that is written, NULL = standard output */
	const struct heaplog_options *heaplog;
};

struct trace_writer;

/* An import may not write over what it reads. */
int import_check_output(const char *from, const char *to, struct err *err);

/* Closes the trace that an import writes: `status`, or why it cannot be closed. */
int import_close(struct trace_writer *writer, int status, struct err *err);

#endif
