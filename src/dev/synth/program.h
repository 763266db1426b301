/* SPDX-License-Identifier: MIT
 * The program that is made up: modules, functions with names, and a tree of calling contexts whose
 * leaves are the allocation points. */
#ifndef DEV_SYNTH_PROGRAM_H
#define DEV_SYNTH_PROGRAM_H

#include "dev/synth/draw.h"
#include "dev/synth/limits.h"
#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

struct synth_node { /* of the tree; its number is that of its context */
	u32 parent;
	u32 function;
	u32 children;
	u8 site; /* which of the function's calls */
	u8 depth;
};

struct program {
	u32 functions;
	VEC(struct synth_node) nodes;  /* number 0 is no context */
	u32 told;                      /* nodes that the sink knows */
	u32 path[SYNTH_DEPTH_MAX + 1]; /* contexts of the last stack, by depth */
	u32 depth;
	struct draw draw;
	struct arena names;
};

bool program_init(struct program *self, u64 points, u64 seed);
void program_release(struct program *self);

/* A stack that is not there yet, SYNTH_DEPTH_MIN to _MAX deep and like the one before; 0 without
 * memory. */
u32 program_new_stack(struct program *self);

/* What the trace is told: modules at the start, contexts before they are named, and at the end,
 * when it has been closed, the names. */
int program_tell_modules(const struct program *self, const struct stream_sink *sink,
			 struct err *err);
int program_tell_contexts(struct program *self, const struct stream_sink *sink, struct err *err);
int program_write_symbols(struct program *self, const char *path, struct err *err);
int program_write_types(struct program *self, const char *path, u32 types, struct err *err);

/* What a type's rows call it. */
u64 program_type_identity(u32 type);

/* A name that lives as long as the program; NULL without memory. */
const char *program_function_name(struct program *self, u32 function);

#endif
