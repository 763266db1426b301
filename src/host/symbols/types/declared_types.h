/* SPDX-License-Identifier: MIT
 * What declared.c finds, and the types that declared_types.c makes of it: theirs alone. */
#ifndef HOST_SYMBOLS_TYPES_DECLARED_TYPES_H
#define HOST_SYMBOLS_TYPES_DECLARED_TYPES_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/symbols/die.h"
#include "host/symbols/module.h"
#include "host/symbols/names.h"
#include "host/symbols/type_text.h"
#include "host/symbols/types/declared_type.h"

struct declared_place { /* of a variable */
	u64 address;
	Dwarf_Die die;
};

struct declared_file {
	struct module module; /* of its own */
	bool is_open;
	struct module *files;                 /* that, or the symbolizer's */
	Dwarf *dwarf;                         /* NULL = there is none */
	VEC(struct declared_place) variables; /* by address */
	bool has_functions;                   /* variables in functions, too */
};

struct declared_class { /* the first definition of this name, size and scope */
	Dwarf_Die die;
	const char *scope; /* "a::b::", kept: equal ones are the same pointer */
	const char *name;  /* as the debug info has it */
	u64 size;
	u32 next; /* of the same name and size, NO_DECLARED = none */
	u32 type; /* NO_DECLARED = nobody asked */
};

struct declared_frame {                      /* the variables of a function at some address */
	const struct declared_local *locals; /* by offset; in the arena of names */
	u32 count;
};

struct declared_entry { /* a type */
	struct declared_type shown;
	Dwarf_Die die;
	bool has_members;
};

struct declared {
	struct declared_query query;
	struct module_places places;
	struct names names;
	VEC(struct declared_file *) files;
	VEC(struct declared_class) classes;
	VEC(struct declared_entry *) types; /* in the arena of names */
	struct map by_file;                 /* key of a module → its place + 1 */
	/* hash of name and size → last class + 1, with size 0 the first; address of a definition →
	 * class + 1 */
	struct map by_class, by_definition;
	struct map by_name;    /* hash of a readable name → class + 1 */
	struct map by_pointer; /* hash of "Foo*" → type + 1 */
	struct map by_die;     /* address of a type's entry → type + 1 */
	VEC(struct declared_frame) frames;
	struct map by_code; /* hash of file and address → frame + 1 */
	u64 named;          /* classes that by_name has */
	u64 dies;           /* that were looked at */
	bool failed;
};

static inline u64 declared_class_hash(const char *name, u64 size)
{
	return hash_text(hash_u64(HASH_START ^ size), name); /* or "a", 32 would be "A", 0 */
}

static inline u32 declared_class_first(const struct declared *self, u64 hash)
{
	const u64 *place = map_find(&self->by_class, hash);

	return place && *place ? (u32)*place - 1 : NO_DECLARED;
}

/* The module's, which is read now if it was not; NULL without memory. */
struct declared_file *declared_file(struct declared *self, const struct symbolizer_module *module);

/* As people write it, with what it is in. */
const char *declared_class_name(struct declared *self, u32 number);
/* The types of a class, and of what a variable or member is. */
const struct declared_type *declared_type_read(struct declared *self, u32 type);
u32 declared_type_of_class(struct declared *self, u32 number);
u32 declared_type_below(struct declared *self, Dwarf_Die *die);
/* A pointer to what may be unknown. */
u32 declared_pointer_to(struct declared *self, u32 type);
void declared_types_release(struct declared *self);

#endif
