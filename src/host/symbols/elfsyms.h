/* SPDX-License-Identifier: MIT
 * The functions of one module by its symbol tables, sorted for search: full table, minidebuginfo,
 * dynamic table and PLT stubs, whatever there is; and its variables. */
#ifndef HOST_SYMBOLS_ELFSYMS_H
#define HOST_SYMBOLS_ELFSYMS_H

#include <elfutils/libdwfl.h>

#include "host/symbols/names.h"

/* Bits of a symbol's rank among its aliases, worst first; below them the leading underscores. */
enum { ELFSYM_LABEL = 64, ELFSYM_UNSIZED = 32, ELFSYM_LOCAL = 16 };

struct elfsym {
	u64 start, end;   /* end is exclusive */
	u64 reach;        /* largest end of this and all earlier symbols */
	const char *name; /* linker name, in the module's file; may have a @version */
	u8 rank;          /* among aliases: smaller is better */
	bool plt;         /* name is what the stub leads to */
	bool ada;         /* of a program that GNAT made */
};

struct elfsyms {
	struct elfsym *data;
	u64 count, capacity;
	bool has_local; /* more than a dynamic symbol table */
};

/* All addresses are the module's own: those of its program headers. */
int elfsyms_read(struct elfsyms *self, Dwfl_Module *module);
/* The same of variables, but for those that each thread has its own of. */
int elfsyms_read_data(struct elfsyms *self, Dwfl_Module *module);
void elfsyms_release(struct elfsyms *self);

/* The innermost function or variable that covers address, or NULL. */
const struct elfsym *elfsyms_find(const struct elfsyms *self, u64 address);

/* The name to show. */
const char *elfsym_readable(const struct elfsym *symbol, struct names *names);

#endif
