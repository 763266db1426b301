/* SPDX-License-Identifier: MIT
 * Roots with names: the data of a module is one root in a trace, and here as many as it has
 * variables. A frame is as many as there are variables on it, and the parts between them.
 *
 *	struct owner_roots roots = {0};
 *	struct owner_roots_query query = {.model = model};
 *	if (owner_roots_make(&roots, graph, &query, err) < 0) ...
 *	use(&roots.graph, roots.names.data[node - roots.graph.chunk_count].label);
 *	owner_roots_release(&roots);
 */
#ifndef STUDY_ANALYSIS_OWNERS_ROOTS_H
#define STUDY_ANALYSIS_OWNERS_ROOTS_H

#include "host/symbols/names.h"
#include "host/symbols/symbolizer.h"
#include "host/symbols/types/declared.h"
#include "host/trace/symtab.h"
#include "study/model/model.h"

struct owner_roots_query {
	const struct model *model;
	const char *debug_path; /* may be NULL */
	/* names that the trace has, which need no files; NULL = none. Of this image */
	const struct symbol_table *symbols;
	u32 image;
};

struct owner_root_name {
	/* "server (main.c:12)", "server (data of main)" where its declaration is unknown, "cache in
	 * main (main.c:12)", "stack in main"; equal for roots that are shown as one */
	const char *label;
	const char *name;   /* of the variable, the frame's function or the register; "" = none */
	const char *module; /* path of its file, "" = unknown */
	u64 offset;         /* of its first byte in the module; else its address */
	u32 type;           /* of the variable, as declared; NO_DECLARED = unknown */
	u64 order;          /* of a frame, or a part of one: see owner_frame_order */
};

/* Which of the roots on stacks come first: those of outer frames, and of one frame objects, which
 * are equal, then pointers as they are declared, then what has no name. */
enum owner_frame_part { FRAME_OBJECT = 0, FRAME_POINTER = 1, FRAME_PLAIN = 254, FRAME_REST = 255 };

static inline u64 owner_frame_order(u64 frame_address, u8 part)
{
	return frame_address << 8 | (u8)~part;
}

static inline bool owner_frame_is_object(u64 order) { return (u8)~order == FRAME_OBJECT; }

struct owner_roots { /* all zero = empty */
	/* That of the trace with these roots; edges and chunks are the trace's. Roots that lead
	 * nowhere are left out. */
	struct stream_graph graph;
	const struct stream_graph *told; /* that of the trace */
	VEC(struct stream_root) roots;
	VEC(struct owner_root_name) names;
	VEC(u64) starts;
	struct symbolizer *symbolizer;
	struct declared *declared;
	struct names texts;
};

int owner_roots_make(struct owner_roots *self, const struct stream_graph *graph,
		     const struct owner_roots_query *query, struct err *err);
/* The root of the trace that an edge is of, as a node of its graph. */
u32 owner_roots_told(const struct owner_roots *self, u64 edge);
/* Where in its variable the pointer stands, which is an edge of a root. */
u64 owner_roots_offset(const struct owner_roots *self, u32 root, u64 edge);
void owner_roots_release(struct owner_roots *self);

#endif
