/* SPDX-License-Identifier: MIT
 * Call stacks of the model as results show them, with names where symbols are known. */
#ifndef STUDY_ANALYSIS_PLACES_STACKS_H
#define STUDY_ANALYSIS_PLACES_STACKS_H

#include "study/model/model.h"
#include "study/result/result.h"
#include "host/trace/symtab.h"

struct type_answer;     /* study/analysis/typing/types.h */
struct behaviour_table; /* study/analysis/memoro/behaviour.h */
struct growth_samples;  /* study/analysis/leaks/growth.h */
struct folds;           /* study/analysis/places/folds.h */

struct stack_source {
	const struct model *model;
	const struct symbol_table *symbols; /* may be NULL: no names */
	u32 image;                          /* the image's own number, by which symbols are kept */
	/* of the trace, which keeps more than the model; may be NULL */
	const char *path;
	u32 depth;                       /* frames to show, 0 = all */
	const struct type_answer *types; /* by point; NULL = not asked for */
	/* What behaviour_find gave for some thresholds: it gives the same again to who asks with
	 * them. May be NULL. */
	const struct behaviour_table *behaviour;
	/* And what a stream has left for growth_find; may be NULL. */
	const struct growth_samples *growth;
	/* What was looked up before, by frame, as many as there are; NULL = it is looked up each
	 * time. Shared by all who read the model: each place is written by whoever asks first. */
	const struct symbol_entry **found;
	/* wrappers that are shown as part of their callers; NULL = none */
	const struct folds *folds;
	bool fold; /* of neighbouring frames of the standard library show the outermost only */
};

/* What is known of one frame: its module's path ("" = unknown), and its names from the innermost
 * inlined function on; count 0 = no names. Valid as long as the source. */
struct stack_names {
	const char *module;
	const struct symbol_frame *frames;
	u32 count;
};
struct stack_names stack_names(const struct stack_source *self, struct frame_id frame);

/* The stack that ends in a frame (its number is the frame's), owned by result; NULL (and result
 * failed) if there is no memory. */
const struct result_stack *stack_of(const struct stack_source *self, struct frame_id frame,
				    struct result *result);

/* Cells: a sum in units of the model; the stack that allocates at a point. */
static inline struct value value_units(const struct model *model, u64 units)
{
	return value_number(model_count(model, units));
}
static inline struct value stack_of_point(const struct stack_source *self, struct point_id point,
					  struct result *result)
{
	return value_stack(stack_of(self, self->model->points.data[point.index].frame, result));
}

/* Code of the language's own library: what stands between the program's code and the allocator. It
 * is known by its name or by its source file ("" = unknown). */
bool function_is_minor(const char *function, const char *file);
/* The C and C++ libraries and what belongs to them, by the file's name without its folder. */
bool library_is_system(const char *name);
/* The libraries of Ada and Fortran, which allocate for the program, too. A function without a name
 * begins with that of its file. */
bool library_is_runtime(const char *name);

/* The program's own code: neither of the libraries above nor of a language's own library. Texts are
 * "" where unknown. */
bool frame_is_own(const char *module, const char *function, const char *file);

/* The recorder stands between the program and functions that it records (strdup, getline). */
bool frame_is_recorder(const struct stack_source *self, const struct frame *frame);

/* Path of a frame's module, "" = unknown; and its symbols, or NULL. */
const char *frame_module_path(const struct stack_source *self, const struct frame *frame);
const struct symbol_entry *frame_symbols(const struct stack_source *self,
					 const struct frame *frame);

#endif
