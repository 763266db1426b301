/* SPDX-License-Identifier: MIT
 * Other people's formats: a table of those that `heapwise export` writes. */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <stdio.h>

#include "model/model.h"
#include "trace/symtab.h"

struct heaplog_options; /* heaplog.h */

/* One image of a trace, loaded; what a model does not keep is read from the file. */
struct exchange_job {
	const char *path;
	u32 image; /* counted from 0 in the file */
	const struct model *model;
	const struct symbol_table *symbols;
	const char *output; /* file that is written, NULL = standard output */
	const struct heaplog_options *heaplog;
};

struct exchange_format {
	const char *name;    /* for --to */
	const char *meaning; /* one line */
	int (*write)(const struct exchange_job *job, FILE *out, struct err *err);
};

/* Ended by one without a name. EXCHANGE_FORMATS has their names for an option's table. */
extern const struct exchange_format exchange_formats[];
#define EXCHANGE_FORMATS "emad|heaplog"

/* The format of that name, or NULL. */
const struct exchange_format *exchange_find(const char *name);

#endif
