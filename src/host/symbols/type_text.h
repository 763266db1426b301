/* SPDX-License-Identifier: MIT
 * Readable names of functions and types, taken apart: classes, templates and their arguments.
 *
 *	struct name_parts parts;
 *	if (name_parse("std::vector<int, A>::reserve(unsigned long)", &parts))
 *		… parts.parts[1].name is "vector", parts.parts[1].arguments[0] is "int"
 *
 * Names come from demanglers, so operators, lambdas, local classes, Rust's <T as Trait> and commas
 * and comparisons in arguments are all in them. Any text is safe. */
#ifndef HOST_SYMBOLS_TYPE_TEXT_H
#define HOST_SYMBOLS_TYPE_TEXT_H

#include "host/base/strbuf.h"

/* A piece of a text, not terminated. */
struct span {
	const char *text;
	u32 bytes;
};

enum { NAME_PARTS = 24, NAME_ARGUMENTS = 10 };

/* What stands between two "::". */
struct name_part {
	struct span name;                      /* without arguments */
	struct span arguments[NAME_ARGUMENTS]; /* further ones are not kept */
	u32 argument_count;
	bool is_template;
};

struct name_parts {
	struct name_part parts[NAME_PARTS];
	u32 count;
	bool is_function; /* ends in a list of parameters */
};

/* Takes the name of a function or type apart; what stands before it (return type) and behind it
 * (parameters, "const", "[clone …]") is dropped, and so are inline namespaces (std::__cxx11). False
 * if it has no such shape, or too many parts. */
bool name_parse(const char *text, struct name_parts *out);
bool name_parse_span(struct span text, struct name_parts *out);

/* The next character of `stops` outside all brackets, or end; NULL if brackets do not match. p may
 * not point into a word. */
const char *name_find_outside(const char *p, const char *end, const char *stops);

/* p is at an opening bracket: what is behind its match; NULL if it has none. */
const char *name_skip_brackets(const char *p, const char *end);

struct span span_between(const char *from, const char *end); /* without spaces around it */
struct span span_of(const char *text);
bool span_is(struct span self, const char *text);
bool span_starts(struct span self, const char *text);

/* Whether the span, or the text, begins with one of the texts of an array. */
bool span_starts_one(struct span self, const char *const *list, u32 count);
#define span_starts_any(self, list) span_starts_one(self, list, sizeof(list) / sizeof *(list))
#define text_starts_any(text, list) span_starts_any(span_of(text), list)

/* "std::vector" of the first `count` parts, without arguments. */
void name_path(const struct name_parts *self, u32 count, struct strbuf *out);

/* Adds a type as people write it: without default arguments of the standard library's templates,
 * without inline namespaces, std::string by its name, "unsigned long" whether it came as that or as
 * DWARF's "long unsigned int", and the library's own node types as what they are nodes of
 * ("std::map<int, Foo> node"). Equal types of all sources get equal texts. */
void type_add_readable(struct strbuf *out, struct span type);

/* Adds the type with the arguments of its templates folded: "std::map<*> node". */
void type_add_folded(struct strbuf *out, const char *type);

#endif
