/* SPDX-License-Identifier: MIT
 * Reads the part of TOML 1.0 that settings need: tables, arrays of tables, and pairs of a key and a
 * string, an integer, a real number, a boolean or an array of these. Whatever else TOML has (dotted
 * keys, inline tables, multi-line strings, dates, numbers in other bases, inf, nan, arrays in
 * arrays) is refused by name, and what TOML does not allow is refused, too. Errors tell line and
 * column.
 *
 *	struct toml toml = {0};
 *	if (toml_read(&toml, text, bytes, "heap.toml", err) < 0) …    ERR_INPUT: "heap.toml:3:7: …"
 *	for (u64 i = 0; i < toml.entries.count; i++)
 *		use(&toml.entries.data[i]);
 *	toml_release(&toml);
 */
#ifndef HOST_BASE_TOML_H
#define HOST_BASE_TOML_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"

enum { TOML_MAX_BYTES = 1 << 20 };

enum toml_type { TOML_STRING, TOML_INTEGER, TOML_REAL, TOML_BOOL, TOML_ARRAY };

struct toml_place {
	u32 line, column; /* from 1; columns are bytes */
};

struct toml_value {
	enum toml_type type;
	struct toml_place place;
	u32 count; /* of items */
	union {
		const char *text; /* UTF-8 without zero bytes */
		i64 integer;
		double real;
		bool boolean;
		const struct toml_value *items;
	};
};

struct toml_table {
	const char *name; /* "" = what stands before the first table */
	bool array;       /* [[name]] */
	u32 line;
};

struct toml_entry {
	u32 table; /* index */
	const char *key;
	struct toml_value value;
	struct toml_place place; /* of the key */
};

struct toml {                          /* all zero = empty */
	VEC(struct toml_table) tables; /* in order; tables.data[0] has the name "" */
	VEC(struct toml_entry) entries;
	struct arena arena;
};

/* name is what errors call it. Also after a failure the caller releases. */
int toml_read(struct toml *self, const char *text, u64 bytes, const char *name, struct err *err);
void toml_release(struct toml *self);

/* Fills err with "name:line:column: …" and returns ERR_INPUT; also for those who find what was read
 * wrong. */
int toml_refuse(struct err *err, const char *name, struct toml_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* "string", "integer" … */
const char *toml_type_name(enum toml_type type);

#endif
