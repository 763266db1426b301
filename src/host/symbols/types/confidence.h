/* SPDX-License-Identifier: MIT
 * How sure the type of a chunk is, and who says so. docs/METHODS.md, "Types". */
#ifndef HOST_SYMBOLS_TYPES_CONFIDENCE_H
#define HOST_SYMBOLS_TYPES_CONFIDENCE_H

enum type_confidence {
	TYPE_UNKNOWN,
	TYPE_GUESS,  /* it may be another */
	TYPE_LIKELY, /* by all that is known, but somebody could have gone out of his way */
	TYPE_EXACT,  /* the program or its compiler says so */
};

/* In the order in which they are believed; the first two are enum type_source of the stream. */
enum type_origin {
	ORIGIN_NONE,
	ORIGIN_DECLARED,
	ORIGIN_VTABLE,
	ORIGIN_FRAME,
	ORIGIN_INDEX,
	ORIGIN_DWARF,
	ORIGIN_LINE,
	TYPE_ORIGINS
};

#endif
