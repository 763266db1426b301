/* SPDX-License-Identifier: MIT
 * Types by their symbols: the variable that heapwise/types.hpp makes for each type that it meets,
 * and the vtables of classes that have virtual functions. */
#ifndef HOST_SYMBOLS_TYPE_SYMBOLS_H
#define HOST_SYMBOLS_TYPE_SYMBOLS_H

#include <elfutils/libdwfl.h>

#include "format/types.h"

struct type_symbol {
	u64 start, end;   /* end is exclusive */
	const char *name; /* linker name, in the module's file */
};

struct type_symbols { /* all zero = not read */
	struct type_symbol *data;
	u64 count, capacity;
	bool read;
};

/* Addresses are the module's own, as in elfsyms.h. */
int type_symbols_read(struct type_symbols *self, Dwfl_Module *module);
void type_symbols_release(struct type_symbols *self);

/* The symbol that covers address, or NULL. */
const struct type_symbol *type_symbols_find(const struct type_symbols *self, u64 address);

/* The type that a linker name is of, to be freed; NULL if it is of none, or cannot be read. */
char *type_of_symbol(const char *linker_name);

#endif
