/* SPDX-License-Identifier: MIT
 * Functions and inlined functions of one compilation unit that hold the addresses of interest. */
#ifndef HOST_SYMBOLS_SCOPES_H
#define HOST_SYMBOLS_SCOPES_H

#include <elfutils/libdw.h>

#include "format/types.h"

#define NO_SCOPE UINT32_MAX

/* A function, or a function that was inlined into the scope `parent`. */
struct scope {
	Dwarf_Die die;
	u32 parent; /* NO_SCOPE for a function */
};

struct scopes {
	struct scope *data;
	u64 count, capacity;
	const u64 *addresses; /* the unit's, ascending */
	u32 *innermost;       /* per address, or NO_SCOPE */
	u64 address_count;
};

/* The functions of a unit that have code, a row for each range, in the order of their DIEs; those
 * within other functions and within types are not among them. */
struct unit_function {
	u64 low, high; /* high is exclusive */
	Dwarf_Die die;
};
struct unit_functions { /* all zero = not read */
	struct unit_function *data;
	u64 count, capacity;
	bool read;
};

/* Returns 0 or ERR_MEMORY; a damaged unit has those that come before the damage. */
int unit_functions_read(struct unit_functions *self, Dwarf_Die *root);
void unit_functions_release(struct unit_functions *self);

/* Walks the unit below root and fills self->innermost, which the caller has set to NO_SCOPE.
 * Returns 0 or ERR_MEMORY; a damaged unit ends the walk early. functions: the unit's. */
int scopes_read(struct scopes *self, Dwarf_Die *root, const struct unit_functions *functions);
void scopes_release(struct scopes *self);

#endif
