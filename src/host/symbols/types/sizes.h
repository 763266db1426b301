/* SPDX-License-Identifier: MIT
 * Which types of a program have a given size: struct, class, union and typedef names from the
 * debug info of its modules, with type units, split (.dwo) and separate debug files.
 *
 *	struct typesizes types = {0};
 *	typesizes_read(&types, &(struct typesizes_query){ … }, err);
 *	u64 i = typesizes_first(&types, 204);
 *	for (; i < types.count && types.data[i].size == 204; i++)
 *		… types.data[i].name
 *	typesizes_release(&types);
 */
#ifndef HOST_SYMBOLS_TYPES_SIZES_H
#define HOST_SYMBOLS_TYPES_SIZES_H

#include "host/symbols/names.h"
#include "host/symbols/symbolizer.h"
#include "host/trace/debugtypes.h"

/* In the order in which a reader wants them. */
enum type_rank {
	TYPE_OWN,      /* struct, class or union of the program's own sources */
	TYPE_TYPEDEF,  /* typedef of the program's own sources */
	TYPE_LIBRARY,  /* of a library */
	TYPE_STANDARD, /* std:: and the like, template arguments folded */
	TYPE_RESERVED, /* of the C library, of the system's headers, or a name that begins with _ */
};

struct sized_type {
	u64 size;
	const char *name;
	enum type_rank rank;
};

struct typesizes_query {
	const struct symbolizer_module *modules; /* the program first */
	u32 module_count;
	u32 own_modules;  /* how many of these are the program itself: 0 or 1 */
	const u64 *sizes; /* ascending; no others are kept */
	u64 size_count;
	/* ascending, without template arguments and what they are in; types of these names are kept
	 * whatever their size */
	const char *const *names;
	u64 name_count;
	bool all; /* all types are kept, whatever they are called and however large */
	/* of the trace; debug info of files that are in it is not read. May be NULL */
	const struct debug_types *kept;
	/* files that it has open are not opened anew; may be NULL */
	const struct symbolizer *symbolizer;
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
	u64 max_bytes;          /* of debug info to read; 0 = a bound that takes seconds */
};

struct typesizes {
	struct sized_type *data; /* by size, rank, name; each name of a size once */
	u64 count, capacity;
	/* By module of the query: SYMBOLIZER_MISSING, _STRIPPED (no debug info) or _DEBUG. */
	enum symbolizer_state *states;
	u64 lost_units; /* whose .dwo file was not found */
	bool stopped;   /* at max_bytes: there may be more names */
	u64 bytes;      /* of debug info that were read */
	struct names names;
};

/* Damaged debug info ends a unit early; only a lack of memory is an error. */
int typesizes_read(struct typesizes *self, const struct typesizes_query *query, struct err *err);
void typesizes_release(struct typesizes *self);

/* Index of the first type of that size, or of where it would be. */
u64 typesizes_first(const struct typesizes *self, u64 size);

#endif
