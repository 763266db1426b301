/* SPDX-License-Identifier: MIT
 * Allocation objects, the unit of the EMAD paper: all chunks of one size that one routine allocates
 * and one routine frees, with their number and mean life. Defined in docs/METHODS.md, "Excessive
 * allocation (EMAD)". */
#ifndef STUDY_ANALYSIS_EMAD_OBJECTS_H
#define STUDY_ANALYSIS_EMAD_OBJECTS_H

#include "study/analysis/mprof/calls.h"
#include "study/model/each.h"
#include "study/analysis/places/wrappers.h"

/* Instead of a destroyer. */
#define NEVER_FREED UINT32_MAX
#define FREE_NOT_SEEN (UINT32_MAX - 1) /* it was freed, it is not known by whom */
#define NO_WRAPPER UINT32_MAX

/* A wrapper that was looked through, and for how many of an object's chunks. */
struct wrapper_use {
	struct function_id function; /* NO_WRAPPER = none */
	u64 units;
};

struct alloc_object {
	u64 size;                  /* requested bytes; the mean, if sizes are taken together */
	u64 least, most;           /* the same as it, else */
	double bytes;              /* of all units */
	struct function_id caller; /* whom the allocation is attributed to */
	struct function_id destroyer;
	struct wrapper_use via, freed_via; /* the outermost, that of most of its chunks */
	u64 units;                         /* frequency, in units of the model */
	double life_ticks;                 /* sum over the chunks, each as often as it stands for */
	u64 first_ticks, last_ticks;       /* its first allocation, its last free */
	u8 kind;                           /* enum hw_kind of its first allocation */
	u32 first_call;                    /* of the caller, on the stack of its first allocation */
};

struct object_table { /* all zero = empty and ready */
	/* sizes are taken together: an object is all that one routine allocates and one frees */
	bool by_caller;
	const struct stack_source *source;
	struct mprof_calls calls;
	VEC(struct alloc_object) rows; /* in the order of first appearance */
	VEC(u8) wraps;                 /* by function: what it is a wrapper for */
	VEC(u32) alloc_calls;          /* by point: call of the routine that is attributed */
	VEC(u32) alloc_via;            /* by point: its wrapper */
	VEC(u32) free_functions;       /* by context: destroyer + 1, 0 = not seen */
	VEC(u32) freed_via;            /* by context: its wrapper */
	struct map by_hash;            /* hash of size, caller and destroyer → index + 1 */
	/* object << 32 | wrapper → units, if it is another one than its first chunk's */
	struct map other_via, other_freed_via;
	u64 frees_without_stack; /* chunks */
};

/* source must outlive self. Released also after a failure. */
int objects_find(struct object_table *self, const struct stack_source *source,
		 const struct wrappers *wrappers, struct err *err);

/* The object of a chunk, or UINT32_MAX if it has none. *call is the routine's call on
 * the stack of the allocation. */
u32 objects_of_chunk(const struct object_table *self, const struct chunk *chunk, u32 *call);

/* Whether its chunks were freed, so that it has a life. */
static inline bool object_is_freed(const struct alloc_object *object)
{
	return object->destroyer.index != NEVER_FREED;
}

double object_frequency(const struct object_table *self, const struct alloc_object *object);
double object_life_ns(const struct object_table *self,
		      const struct alloc_object *object); /* mean */

/* From its first allocation to its last free. */
double object_span_ns(const struct object_table *self, const struct alloc_object *object);

/* The name of a caller or a destroyer. */
const char *object_routine(const struct object_table *self, struct function_id function);

void objects_release(struct object_table *self);

#endif
