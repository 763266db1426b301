/* SPDX-License-Identifier: MIT
 * Classes by their vtables in files without symbols: the word before a vtable's address point leads
 * to the class's type_info, and that to its name. Both are read from the file, with the relocations
 * that the loader would apply. */
#ifndef HOST_SYMBOLS_RTTI_H
#define HOST_SYMBOLS_RTTI_H

#include <elfutils/libdwfl.h>

#include "format/types.h"

struct rtti_word { /* what the loader puts at an address */
	u64 at, value;
	const char *symbol; /* linker name, in the file; NULL = none */
};

struct rtti { /* all zero = not read */
	struct rtti_word *data;
	u64 count, capacity;
	/* the first ones are in order as the file has them; the others are sorted */
	u64 ordered_count;
	Elf *elf; /* the module's */
	bool read;
};

int rtti_read(struct rtti *self, Dwfl_Module *module);
/* The same of a file that stays open; NULL has no classes. */
int rtti_read_elf(struct rtti *self, Elf *elf);
void rtti_release(struct rtti *self);

/* The name of the class whose vtable has an address point there, to be freed; NULL if there is
 * none. */
char *rtti_class(const struct rtti *self, u64 address);

#endif
