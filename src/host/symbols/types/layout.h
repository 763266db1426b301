/* SPDX-License-Identifier: MIT
 * The members of a type, from debug info.
 *
 *	struct type_layout layout = {0};
 *	if (type_layout_read(&layout, &query, err) == 0 && layout.size)
 *		… layout.members.data[i]
 *	type_layout_release(&layout);
 */
#ifndef HOST_SYMBOLS_TYPES_LAYOUT_H
#define HOST_SYMBOLS_TYPES_LAYOUT_H

#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "host/symbols/names.h"
#include "host/symbols/symbolizer.h"

struct type_member {
	const char *name; /* "" = padding; "pair.first" of a structure whose type has no name */
	const char *type; /* as people write it */
	u64 offset, size; /* in bytes; of bit-fields those that they are in */
	bool padding;
};

struct type_layout_query {
	const char *name; /* as the cascade has it; without its namespaces if that is enough */
	const struct symbolizer_module *modules;
	u32 module_count;
	const char *debug_path; /* may be NULL */
};

struct type_layout { /* all zero = empty */
	const char *name;
	u64 size;                        /* 0 = there is no such type */
	VEC(struct type_member) members; /* by offset, those of base classes and padding included */
	struct names names;
};

/* The first definition that is found. Damaged debug info gives less; only a lack of memory is an
 * error. */
int type_layout_read(struct type_layout *self, const struct type_layout_query *query,
		     struct err *err);
void type_layout_release(struct type_layout *self);

/* Adds the name that debug info has for a readable type. Nodes of multimap are those of map; debug
 * info knows one type of both, and its name is the latter's. */
void type_add_usual_node(struct strbuf *out, const char *name);

#endif
