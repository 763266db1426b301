/* SPDX-License-Identifier: MIT
 * The table of other people's formats: what `heapwise export` writes and `heapwise import`
 * reads. */
#ifndef SHOW_FORMATS_FORMATS_H
#define SHOW_FORMATS_FORMATS_H

#include "host/base/strbuf.h"
#include "show/formats/export.h"

#define READ_FORMATS "emad|heaplog|heaptrack"

struct import_job {
	char *const *from; /* files of one run */
	u32 count;
	const char *to; /* the trace */
	u64 tick_ns;    /* length of a unit of time */
};

struct file_format {
	const char *name;

	/* Writing: this, or a page; neither = it is only read. */
	int (*write)(const struct export_job *job, FILE *out, struct err *err);
	bool page;        /* answers of the API: html.h */
	bool named;       /* needs a file with a name */
	bool point_types; /* tells types of points */
	bool chunk_types; /* and of chunks */
	bool call_types;  /* and asks for them what the compiler wrote beside calls */
	bool graphs;      /* tells pointers: the model needs its graphs */
	bool mute;        /* has no place for caveats */
	bool binary;      /* nothing for a terminal */

	/* Reading: makes a trace and tells what was in the files. NULL = it is only written. */
	int (*read)(const struct import_job *job, struct strbuf *told, struct err *err);
	bool (*begins)(const char *line); /* whether that is the first line of such a file */
	u64 tick_ns;                      /* unless the user says otherwise */
	bool several;                     /* files may be one run */
};

/* The names of those that are written, "html|pprof|…", and a line of --help for each. */
extern const char formats_written[], formats_help[];

/* NULL if there is none of that name. */
const struct file_format *format_find(const char *name);

/* The format of a file, by its first line that says something; NULL = none that is read. */
int format_recognise(const char *path, const struct file_format **format, struct err *err);

#endif
