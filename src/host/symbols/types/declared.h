/* SPDX-License-Identifier: MIT
 * Variables and types as the debug info of a program's modules declares them.
 *
 *	struct declared *declared = declared_new(&query, err);
 *	struct declared_variable variable;
 *	if (declared_variable(declared, &module, address, &variable))
 *		… declared_type(declared, variable.type)->name
 *	declared_free(declared);
 *
 * A module is read when it is first asked for, a type when somebody asks for it. Damaged debug info
 * gives less. Not thread-safe. */
#ifndef HOST_SYMBOLS_TYPES_DECLARED_H
#define HOST_SYMBOLS_TYPES_DECLARED_H

#include "host/symbols/types/declared_type.h"

struct declared_variable {
	u32 type;         /* NO_DECLARED = unknown */
	const char *file; /* that declares it, as the compiler was called with; "" = unknown */
	u32 line;
};

struct declared;

struct declared *declared_new(const struct declared_query *query, struct err *err);
void declared_free(struct declared *self);

/* The variable at this address, relative to the module's base; false if there is none. */
bool declared_variable(struct declared *self, const struct symbolizer_module *module, u64 address,
		       struct declared_variable *variable);

struct declared_spot {   /* a frame of the stack */
	u64 code;        /* an address in its function, relative to the module's base */
	u64 frame_bytes; /* from the stack pointer to where the caller's begins; 0 = unknown */
};

/* The variables on the stack that are in scope there; *count of them, by offset, of which none
 * overlap. Those in registers, and those whose place depends on a register that neither the unwind
 * table has nor is the stack pointer, are not among them. */
const struct declared_local *declared_locals(struct declared *self,
					     const struct symbolizer_module *module,
					     struct declared_spot spot, u32 *count);

/* The type that is called so, as people write it, in the modules that were added. With or without
 * its namespaces. NO_DECLARED = there is none. */
void declared_add(struct declared *self, const struct symbolizer_module *module);
u32 declared_named(struct declared *self, const char *name);

/* NULL for NO_DECLARED. */
const struct declared_type *declared_type(struct declared *self, u32 type);

/* Whether there was no memory: answers are missing. */
bool declared_failed(const struct declared *self);

#endif
