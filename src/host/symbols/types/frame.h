/* SPDX-License-Identifier: MIT
 * The type of a chunk from the functions that allocated it: template arguments of allocators, of
 * make_unique and its like, and of containers. One frame after the other, innermost first:
 *
 *	struct frame_search search = {0};
 *	while (… && frame_search_step(&search, frame))
 *		;
 *	if (search.found)
 *		… search.type, search.confidence
 *	frame_search_release(&search);
 *
 * Functions of the C library are known by their names alone, if the caller says that a frame is
 * one. Frames are looked at as long as they belong to a library that allocates for others. Beyond
 * the first function of the program's own, or a constructor, nothing can be said: what calls it may
 * have any type. */
#ifndef HOST_SYMBOLS_TYPES_FRAME_H
#define HOST_SYMBOLS_TYPES_FRAME_H

#include "host/symbols/types/confidence.h"
#include "host/symbols/type_text.h"
#include "host/trace/symtab.h"

struct frame_search {       /* all zero = ready */
	struct strbuf type; /* readable, see type_add_readable */
	struct strbuf path; /* scratch */
	enum type_confidence confidence;
	/* it will be that when it is known which container a node is of */
	enum type_confidence sure;
	bool found;
	bool single; /* one object, and more bytes behind it: not an array */
	/* set by the caller before each step: the frame is code of the C library, or of the
	 * recorder, which stands before it */
	bool c_library;
	u32 more;       /* frames that may still tell what the block is for */
	bool thrown;    /* the block is an exception's, with its header */
	bool of_vector; /* the type is that of a function which may be one for several types */
};

/* False when further frames cannot tell anything. */
bool frame_search_step(struct frame_search *self, const struct symbol_frame *frame);
void frame_search_release(struct frame_search *self);

#endif
