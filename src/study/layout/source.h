/* SPDX-License-Identifier: MIT
 * Source files that the stacks of a trace name, and what was allocated by their lines. A file is
 * only read if the trace names it and it lies below a folder that the user allowed: a trace of a
 * stranger may name any. */
#ifndef STUDY_LAYOUT_SOURCE_H
#define STUDY_LAYOUT_SOURCE_H

#include "study/layout/folders.h"
#include "study/open/study.h"

struct line_sums {
	u64 allocs, bytes, peak, leaked;
};

struct source_line {
	u32 file, line;
	/* while the table is made: the last point that counted, + 1; then its first number */
	u32 last;
	struct line_sums self; /* of points whose own code allocates here */
	struct line_sums incl; /* of points that have the line on their stack, each once */
};

struct source_file {
	const char *path; /* as the debug information has it; lives as long as the trace */
	struct line_sums self, incl;
	u64 first_line, line_count; /* in lines */
	u32 last;                   /* as that of a line */
};

struct source_table {                  /* of a trace, made once */
	VEC(struct source_file) files; /* by path */
	VEC(struct source_line) lines; /* by file, then line */
	u32 *own_line; /* by point: line of its own code, index of lines + 1; 0 = unknown */
};

const struct source_table *view_source(struct study *trace, struct err *err);

enum { SOURCE_BYTES_MAX = 16 << 20 };

/* The text of a file, if it is there: where it was looked for, and whether it is newer than the
 * program. */
struct source_text {      /* all zero = empty */
	const char *path; /* of the file, as the table has it */
	char *text;       /* NULL = not found, or not allowed */
	u64 bytes;
	bool stale;
	/* the folder, without links, that has to be allowed before the file can be shown; NULL =
	 * none */
	char *asks;
	VEC(char *) searched;
};

void source_text_read(struct source_text *self, struct study *trace, u32 file,
		      const struct folders *allowed);
void source_text_release(struct source_text *self);

#endif
