/* SPDX-License-Identifier: MIT
 * What imports have in common: the lines of a file, and the trace that is made of them. formats.c
 * has the table of all formats. */
#ifndef SHOW_FORMATS_IMPORT_H
#define SHOW_FORMATS_IMPORT_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/symtab.h"
#include "host/trace/writer.h"
#include "show/formats/unpack.h"

/* An import may not write over what it reads. */
int import_check_output(const char *from, const char *to, struct err *err);

/* ---- lines ---- */

typedef int import_line(void *self, struct unpack *file, struct err *err);

/* Calls for each line; what the call fails with then begins with file and line. */
int import_lines(struct unpack *file, const char *path, import_line *take, void *self,
		 struct err *err);

/* The same for a file that must be whole. */
int import_text(const char *path, import_line *take, void *self, struct err *err);

/* ---- the trace ---- */

struct import { /* all zero = empty */
	struct stream_sink sink;
	u64 ticks;                   /* now */
	u64 chunks;                  /* so far */
	u32 last_context;            /* its id */
	struct stream_totals totals; /* kept_bytes and kept_chunks are those that live now */
	VEC(struct symbol_entry) symbols;
	bool named;         /* these are all names that there are, even if there are none */
	struct arena arena; /* of names */
};

/* Makes the trace of what `tell` tells the sink; then names are added. */
int import_write(struct import *self, const char *path,
		 int (*tell)(struct import *self, struct err *err), struct err *err);
void import_release(struct import *self);

int import_context(struct import *self, u32 parent, u64 pc, u32 *id, struct err *err);

/* A chunk begins: gets its number, counts, and is told, now. */
int import_birth(struct import *self, struct event *event, struct err *err);

/* A chunk ends, with its size; or one that is not known, which has NO_CHUNK. */
int import_death(struct import *self, struct event *event, struct err *err);

/* The name of an address in a module, which lives as long as the import. */
int import_name(struct import *self, u32 module, u64 address, const char *function,
		struct err *err);

/* The last clock, and the end unless the file broke off. */
int import_end(struct import *self, const struct stream_clock *clock, bool whole, struct err *err);

#endif
