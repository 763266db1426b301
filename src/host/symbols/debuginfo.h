/* SPDX-License-Identifier: MIT
 * What DWARF says about an address: the function, the functions inlined there, file and line. */
#ifndef HOST_SYMBOLS_DEBUGINFO_H
#define HOST_SYMBOLS_DEBUGINFO_H

#include <elfutils/libdw.h>

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/symbols/names.h"
#include "host/symbols/scopes.h"
#include "host/trace/symtab.h"

/* One range of code of one compilation unit. */
struct unit_range {
	u64 low, high; /* high is exclusive */
	u64 reach;     /* largest high of this and all earlier ranges */
	u32 unit;
};

struct debuginfo {
	Dwarf *dwarf;
	u64 bias; /* to add to an address of the debug file to get the module's */
	VEC(Dwarf_Die) units;
	struct unit_functions *functions; /* of each unit */
	VEC(struct unit_range) ranges;    /* by low */
};

/* The answer for one address. frames[0] is the innermost; NULL if no function is known there. */
struct debuginfo_answer {
	struct symbol_frame *frames;
	u32 frame_count;
	bool bare_name;   /* the last frame's function has no linker name: a symbol may tell more */
	const char *file; /* of the address itself, also without any frame; "" = unknown */
	u32 line, column;
};

struct debuginfo_query {
	const u64 *addresses; /* the module's, ascending */
	u64 count;
	struct debuginfo_answer *answers; /* as many, set to { .file = "" } by the caller */
	bool no_inlines;
	struct arena *arena; /* frames come from here */
	struct names *names; /* texts from here */
};

/* Whether a unit is Ada's, whose names in debug info are linker names: see ada_names.h. */
bool debuginfo_is_ada(Dwarf_Die *unit);

int debuginfo_init(struct debuginfo *self, Dwarf *dwarf, u64 bias);
void debuginfo_release(struct debuginfo *self); /* not the Dwarf, which belongs to its module */

/* Reads the tables of lines and the functions ahead, which is most of the work of answering; not of
 * very large programs. Asks before each unit whether to go on. */
void debuginfo_read_ahead(const struct debuginfo *self, bool (*go_on)(void *), void *asked);

/* Fills all answers. Damaged debug info leaves answers empty; only a lack of memory is an error. */
int debuginfo_resolve(struct debuginfo *self, const struct debuginfo_query *query);

/* The function that has the code at the module's address: 1, or 0 if it is unknown, or ERR_MEMORY.
 */
int debuginfo_function(const struct debuginfo *self, u64 address, Dwarf_Die *function);

#endif
