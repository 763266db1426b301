/* SPDX-License-Identifier: MIT
 * Types that a compiler wrote beside calls that allocate: clang (LLVM 21 and later) gives the call
 * site of a new expression, and of functions that are declared as allocators, the attribute
 * DW_AT_LLVM_alloc_type.
 *
 *	struct call_types calls = {0};
 *	call_types_read(&calls, &(struct call_types_query){ … }, err);
 *	const struct call_type *found = call_types_find(&calls, module, address);
 *	call_types_release(&calls);
 */
#ifndef HOST_SYMBOLS_TYPES_CALL_H
#define HOST_SYMBOLS_TYPES_CALL_H

#include "host/base/vec.h"
#include "host/symbols/names.h"
#include "host/symbols/symbolizer.h"
#include "host/trace/debugtypes.h"

struct call_type {
	u32 module;       /* of the query */
	u64 address;      /* in the module, of the byte before the return address */
	const char *type; /* with what it is in, not yet made readable */
	u64 size;         /* in bytes, 0 = unknown */
};

struct call_types_query {
	const struct symbolizer_module *modules;
	u32 module_count;
	/* of the trace; debug info of files that are in it is not read. May be NULL */
	const struct debug_types *kept;
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
};

struct call_types {                 /* all zero = empty */
	VEC(struct call_type) rows; /* by module and address */
	struct names names;
};

/* Units without such an attribute are not read. Damaged debug info ends a unit early; only a lack
 * of memory is an error. */
int call_types_read(struct call_types *self, const struct call_types_query *query, struct err *err);
void call_types_release(struct call_types *self);

/* NULL = the compiler says nothing of that call. */
const struct call_type *call_types_find(const struct call_types *self, u32 module, u64 address);

#endif
