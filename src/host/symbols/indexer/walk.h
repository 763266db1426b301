/* SPDX-License-Identifier: MIT
 * The walk over a parsed unit: its state, and the parts that look at types. */
#ifndef HOST_SYMBOLS_INDEXER_WALK_H
#define HOST_SYMBOLS_INDEXER_WALK_H

#include "host/symbols/indexer/unit.h"

enum { TYPES_MAX = 8 };

struct walk {
	const struct clang *clang;
	const struct indexer_options *options;
	struct unit *unit;
	CXTranslationUnit parsed;
	VEC(CXCursor) stack;     /* from the outermost declaration to where the walk is */
	const char *function;    /* instantiation that is being walked, demangled; "" = none */
	VEC(CXCursor) instances; /* functions made of templates, each once */
	struct map seen;         /* hash of the name → 1 */
	struct map starts;       /* hash of kind and start of a site → its number + 1 */
	bool is_cpp;
	bool in_template; /* of a system header */
};

/* A type that something says of a place. */
struct said_type {
	CXType type;
	u8 how;              /* enum site_how */
	const char *name;    /* without typedefs; of a template's own type as written */
	const char *written; /* "" = the same */
	u64 size;
	bool dependent;
};

struct said_types {
	struct said_type items[TYPES_MAX];
	u32 count;
};

/* As a demangler writes it; "" if it has no name. */
const char *type_name(struct walk *self, CXType type);

/* Whether the source has it there, and not a macro. */
bool walk_is_spelled(const struct walk *self, CXSourceLocation location);

/* Fills in name, size and the rest of a type; false if it is none (void, int). */
bool type_describe(struct walk *self, CXType type, struct said_type *out);
/* Whether arrays of it begin with their number. */
bool type_has_destructor(struct walk *self, CXType type);

bool type_is_byte(const struct walk *self, CXType type); /* char and the like, std::byte, void */

/* What a pointer points to; kind CXType_Invalid if it is no pointer. */
CXType type_pointee(const struct walk *self, CXType type);

/* Types of the sizeof operands below a cursor. */
void sizeof_types(struct walk *self, CXCursor below, struct said_types *out);

/* Adds the type unless it is there. */
void said_add(struct said_types *self, const struct said_type *said);

/* Keeps a string of libclang's in the unit and disposes of it. */
const char *walk_keep(struct walk *self, CXString string);

/* The path of a file as it is kept. */
void walk_clean_name(const struct walk *self, const char *name, struct strbuf *path);

/* Finds all allocations of a unit that is parsed. */
void walk_all(struct walk *self);

#endif
