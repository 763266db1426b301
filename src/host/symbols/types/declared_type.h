/* SPDX-License-Identifier: MIT
 * A type as debug info declares it. */
#ifndef HOST_SYMBOLS_TYPES_DECLARED_TYPE_H
#define HOST_SYMBOLS_TYPES_DECLARED_TYPE_H

#include "host/symbols/symbolizer.h"

#define NO_DECLARED UINT32_MAX

enum declared_form {
	DECLARED_OTHER, /* numbers and what else has no parts */
	DECLARED_POINTER,
	DECLARED_ARRAY,
	DECLARED_CLASS,
	DECLARED_UNION,
};

struct declared_member {
	const char *name; /* "" = has none: a base class, a structure without a name */
	u64 offset;       /* in bytes */
	u32 type;
};

/* Typedefs and qualifiers are gone. Types that are called alike and are equally large are one. */
struct declared_type {
	const char *name; /* as people write it; "" = has none */
	u64 size;         /* in bytes; 0 = unknown */
	u64 count;        /* elements of an array, 0 = unknown */
	u32 of;           /* that a pointer leads to, or an array has; NO_DECLARED = unknown */
	u8 form;          /* enum declared_form */
	/* of a class or union, by offset, without static ones and virtual bases */
	const struct declared_member *members;
	u32 member_count;
};

struct declared_local { /* a variable on a function's stack */
	const char *name;
	i64 offset; /* from the end of the frame, which is where the caller's begins */
	u64 bytes;
	u32 type;
	const char *file; /* that declares it; "" = unknown */
	u32 line;
	u32 inlined; /* of a function that is so many calls below the one that has the code */
	u32 order;   /* in which they are declared, from outer blocks to inner ones */
};

struct declared_query {
	const char *debug_path; /* more folders with debug files; may be NULL */
	/* modules that it has open are not opened anew; must outlive this one; may be NULL */
	const struct symbolizer *symbolizer;
};

#endif
