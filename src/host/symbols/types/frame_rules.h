/* SPDX-License-Identifier: MIT
 * The table of functions that allocate for others, and where their names tell for what. */
#ifndef HOST_SYMBOLS_TYPES_FRAME_RULES_H
#define HOST_SYMBOLS_TYPES_FRAME_RULES_H

#include "host/symbols/type_text.h"

/* Which template argument, and what it stands for. */
enum shape {
	ELEMENT,   /* the argument itself */
	POINTEE,   /* what it points to */
	ALLOCATED, /* it is an allocator: of its own first argument */
	LAST,      /* the last argument */
	ENTRY,     /* this argument and the next are key and value */
	POLICY,    /* it is a policy with key and value, or a value, as arguments */
	OWNED,     /* the argument, or what it is a slice of: [T], str */
	TUPLE,     /* a hash table's entry: (K, V), (K, ()) */
};

struct rule {
	const char *path;
	u8 argument, shape;
	u8 confidence;
	const char *function; /* only functions whose names begin so; NULL = all */
	const char *format;   /* around the type, "%s" or NULL */
};

extern const struct rule frame_rules[];
extern const u32 frame_rule_count;

/* Helpers that stand between an allocator and its container. Of libraries that also are
 * applications of themselves only the parts that do nothing else. */
bool frame_is_helper(const char *path);

/* Functions that run code of others. */
bool frame_runs_others(struct span function);

/* What a function of the C library allocates; NULL if it is none of those that are known. */
const char *c_function_type(const char *function);

#endif
