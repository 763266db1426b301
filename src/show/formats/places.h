/* SPDX-License-Identifier: MIT
 * Frames of the model by what they are called: each address of the program is one place, with a
 * line for the function that has the code and for each one inlined there. Numbers are dense, so
 * that formats can use them as their own.
 *
 *	struct places places = {0};
 *	places_init(&places, &source);
 *	places_walk(&places, point->frame);      then places.path holds lines, innermost first
 *	if (places.failed) ...                   (once, at the end: out of memory)
 *	places_release(&places);
 *
 * Frames of the recorder, which stands between the program and what it calls, are left out, as in
 * reports. A stack without any frame is one line, PLACE_NO_STACK. */
#ifndef SHOW_FORMATS_PLACES_H
#define SHOW_FORMATS_PLACES_H

#include "study/analysis/places/stacks.h"
#include "host/symbols/names.h"

#define PLACE_NO_STACK 0 /* the line, the place and the function of that number */

struct place_function {   /* a name in a file */
	const char *name; /* never "": "libx.so+0x12" if it is unknown */
	const char *file; /* "" = unknown */
	u32 module;       /* id of one module that has it, or NO_MODULE */
	bool named;
};

struct place_line {
	u32 function;
	u32 line; /* 0 = unknown */
	u32 place;
	bool inlined; /* into the next line of its place */
};

struct place {
	u32 module;       /* id, or NO_MODULE */
	u64 address;      /* in the module; raw without one */
	u32 first, count; /* lines */
};

struct places { /* all zero = empty */
	const struct stack_source *source;
	VEC(struct place) rows;
	VEC(struct place_line) lines;
	VEC(struct place_function) functions;
	VEC(u32) path;         /* of the last walk: lines */
	VEC(u32) path_places;  /* the same by place */
	VEC(u32) of_frame;     /* by frame: place + 1, 0 = not asked yet, UINT32_MAX = left out */
	struct map by_address; /* hash → place + 1, where modules and addresses are compared */
	struct map by_name;    /* the same of functions */
	struct names names;
	bool failed;
};

/* The source must live as long. */
void places_init(struct places *self, const struct stack_source *source);
void places_release(struct places *self);

void places_walk(struct places *self, struct frame_id frame);

/* The same for any calling context, such as that of a free. */
void places_walk_context(struct places *self, u32 context);

/* Its function, never NULL. */
static inline const struct place_function *place_function(const struct places *self, u32 line)
{
	return &self->functions.data[self->lines.data[line].function];
}

/* "/usr/lib/libx.so", "" if unknown. */
const char *places_module_path(const struct places *self, u32 module);

/* The address where the program had the place; without a module its own. */
u64 places_pc(const struct places *self, const struct place *place);

/* Stacks as a tree from the outermost frame; keys are numbers of lines or of functions. Node 0 is
 * the root. */
struct call_node {
	u32 parent, key;
};

struct call_tree { /* all zero = empty */
	VEC(struct call_node) nodes;
	struct map children; /* parent and key → node */
};

/* The node of the last walk, by lines or by functions; false if there is no memory. */
bool call_tree_add(struct call_tree *self, const struct places *places, bool by_line, u32 *node);

/* One step: the child of a node. */
bool call_tree_child(struct call_tree *self, u32 parent, u32 key, u32 *node);
void call_tree_release(struct call_tree *self);

#endif
