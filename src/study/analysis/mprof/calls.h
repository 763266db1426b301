/* SPDX-License-Identifier: MIT
 * Who called whom on the stacks that allocate, by function: what the four tables of `heapwise
 * mprof` are made of. Defined in docs/METHODS.md, "The four tables of mprof".
 *
 * The model's frames become a tree of calls, in which inlined functions are calls of their own,
 * what the C library does before main or a thread's function is left out, and neighbouring
 * functions of the standard library are one. Sums are kept per allocation point: no event is
 * looked at twice. */
#ifndef STUDY_ANALYSIS_MPROF_CALLS_H
#define STUDY_ANALYSIS_MPROF_CALLS_H

#include "study/analysis/places/stacks.h"

enum { MPROF_SIZES = MODEL_SIZE_CLASSES }; /* small, medium, large, extra large */

/* Allocations together. sizes adds up to bytes unless the trace reached its size limit. */
struct mprof_sum {
	u64 bytes;
	u64 sizes[MPROF_SIZES];
	u64 calls; /* in units of the model */
};

void mprof_sum_add(struct mprof_sum *self, const struct mprof_sum *other);

struct function_id {
	u32 index;
};

struct mprof_function {
	const char *name; /* "prog+0x1234" if it is not known */
	u32 identity;     /* of its module */
	bool unnamed;
	bool startup; /* runs before main or a thread's function */
	bool minor;   /* of the standard library */
	/* an allocator of the language that is a function of its own: who calls it allocates */
	bool hands_out;
	bool cut; /* stands for outer frames that were cut off */
};

/* A call in the tree; calls.data[0] is the root, which calls main. Callers have smaller numbers. */
struct mprof_call {
	u32 caller;
	struct function_id function;
	struct frame_id frame; /* which returns into the function: where it calls from */
	bool inlined;
};

struct mprof_point {
	u32 call;     /* the innermost */
	bool startup; /* of the start of a Lisp, which is in no table; its sums are 0 */
	struct mprof_sum all, kept; /* of a Lisp: kept is what was collected */
	u64 frees, freed_bytes;
};

struct mprof_calls {
	const struct stack_source *source;
	VEC(struct mprof_function) functions;
	VEC(struct mprof_call) calls;
	VEC(struct mprof_point) points; /* by number of the model's point */
	/* by frame: the innermost call of the stack that ends in it, 0 = none */
	VEC(u32) frame_calls;
	struct mprof_sum all, kept;    /* of the program */
	bool lisp;                     /* sizes are not by size but by enum lisp_category */
	struct mprof_sum startup;      /* of a Lisp: what was left out */
	struct map by_name;            /* hash of name and module → function + 1 */
	struct map by_symbols;         /* symbol_entry → first of names + 1 */
	VEC(struct function_id) names; /* of symbol entries, outermost first */
	struct arena arena;
};

/* source must outlive self; its depth does not matter. Released also after a failure. */
int mprof_calls_read(struct mprof_calls *self, const struct stack_source *source, struct err *err);
/* The same with the categories of Lisp, if the trace is of one; its start-up is left out, or
 * not. */
int mprof_calls_read_lisp(struct mprof_calls *self, const struct stack_source *source, bool startup,
			  struct err *err);
void mprof_calls_release(struct mprof_calls *self);

static inline const struct mprof_function *mprof_function(const struct mprof_calls *self,
							  struct function_id id)
{
	return &self->functions.data[id.index];
}

#endif
