/* SPDX-License-Identifier: MIT
 * Functions and inlined functions of one compilation unit that hold the addresses of interest. */
#ifndef SYMBOLS_SCOPES_H
#define SYMBOLS_SCOPES_H

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

/* Walks the unit below root and fills self->innermost, which the caller has set to NO_SCOPE.
 * Returns 0 or ERR_MEMORY; a damaged unit ends the walk early. */
int scopes_read(struct scopes *self, Dwarf_Die *root);
void scopes_release(struct scopes *self);

#endif
