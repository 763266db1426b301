/* SPDX-License-Identifier: MIT
 * The type of each chunk: one cascade over all that can tell it. Defined in docs/METHODS.md,
 * "Types".
 *
 *	struct type_cascade types = {0};
 *	if (type_cascade_init(&types, &(struct type_query){ .source = &source }, err) < 0) ...
 *	struct type_answer answer = type_of_chunk(&types, chunk);
 *	if (answer.confidence) … answer.name, type_origin_name(answer.origin)
 *	type_cascade_release(&types);
 *
 * The answer is the first of these that is more than a guess, or else the first guess: what the
 * program declared, the object's vtable, the template argument of an allocator frame, the index of
 * the sources, the type that the compiler wrote into the debug info, the class of others of its
 * point and size that were looked into, a type that the line of the call names. */
#ifndef STUDY_ANALYSIS_TYPING_TYPES_H
#define STUDY_ANALYSIS_TYPING_TYPES_H

#include "study/analysis/places/modules.h"
#include "study/analysis/places/stacks.h"
#include "host/symbols/types/call.h"
#include "host/symbols/names.h"
#include "host/symbols/types/confidence.h"
#include "host/symbols/types/index.h"
#include "host/symbols/types/sizes.h"

struct type_answer {
	const char *name; /* as people write it, lives as long as the cascade; NULL = unknown */
	u64 count;        /* elements, 0 = unknown */
	u64 size;         /* of the type in bytes, 0 = unknown */
	bool counted;     /* it has a destructor: arrays begin with their number; the index knows */
	u8 origin;        /* enum type_origin */
	u8 confidence;    /* enum type_confidence */
	/* it is that of other chunks of this point and size, which were looked into */
	bool sampled;
	/* of a point: some chunk was joined; not all have this answer */
	bool met, varies;
};

struct type_query {
	const struct stack_source *source;
	/* path of an index of the sources; NULL = look beside the program */
	const char *index;
	const char *debug_path; /* more folders with debug files, colon-separated; may be NULL */
	/* what the compiler wrote beside calls: looks through the debug info of all modules */
	bool calls;
	bool guess; /* by source lines, too: reads the debug info of all modules */
};

#define TYPE_ANY_SIZE UINT64_MAX

/* What is known of chunks of one size that one point allocated, or of all chunks of the point. */
struct type_place {
	u32 point;
	u64 size; /* or TYPE_ANY_SIZE */
	/* of TYPE_ANY_SIZE without count: that is told by the size of the type */
	struct type_answer answer;
};

/* What the answer for the chunks of a point depends on. */
enum type_by {
	TYPE_NOT_ASKED,
	TYPE_BY_POINT, /* nothing else */
	TYPE_BY_BOTH,  /* their size, too */
};

struct type_point {
	struct type_answer frames; /* what its frames say */
	u32 place;                 /* of TYPE_BY_POINT */
};

/* What the vtables of a point's chunks say, of which only a sample is looked into. */
struct type_sample {
	struct type_answer answer;
	u64 size;   /* of the chunks that were looked into */
	u32 chunks; /* that have this class */
	bool mixed; /* classes or sizes differ */
};

struct type_cascade { /* all zero = empty */
	struct type_query query;
	struct type_index *index; /* NULL = there is none */
	struct names names;
	VEC(struct type_place) places;
	struct map by_place; /* hash of point and size → index + 1 */
	VEC(struct type_point) points;
	VEC(u8) by; /* by point: enum type_by; apart, because it is asked for each chunk */
	VEC(struct type_sample) samples; /* by point; empty = no chunk has a class */
	/* by type of the model: readable name, NULL = not asked yet */
	VEC(const char *) told;
	/* scratch: the frames that were read so far, innermost first */
	VEC(struct symbol_frame) stack;
	u32 stack_next;  /* frame that is read next, 0 = none */
	bool stack_in_c; /* all of them are the C library's */
	u64 c_frames;    /* how many of these, the innermost, are the C library's */
	struct typesizes sizes;
	struct call_types calls; /* by row of modules */
	struct map size_by_name; /* address of a kept name → bytes of the type */
	struct module_list modules;
	struct debug_types kept; /* by the trace */
	/* hash of a path → its text as a number; only while types are guessed */
	struct map sources;
	u64 source_bytes;
	bool failed; /* there was no memory: answers are missing */
};

/* An index that does not exist is no error; one that was named and cannot be read is. With `guess`
 * nothing changes later on: several threads may ask. */
int type_cascade_init(struct type_cascade *self, const struct type_query *query, struct err *err);
void type_cascade_release(struct type_cascade *self);

struct type_answer type_of_chunk(struct type_cascade *self, u64 chunk);

/* Elements in a chunk of that type, 0 = not known. */
u64 type_elements(const struct type_cascade *self, const struct type_answer *answer, u64 chunk);

/* Whether something was told of single chunks. If not, type_place_of tells all: a number of
 * `places`, or UINT64_MAX if there is no memory. */
bool type_is_told(const struct type_cascade *self);
u64 type_place_of(struct type_cascade *self, struct point_id point, u64 size);

/* One more chunk of a point; once they differ, `type` is unknown when type_settle has seen it. */
void type_join(struct type_answer *type, const struct type_answer *answer);
void type_settle(struct type_answer *types, u64 count);

/* The type that all chunks of a point have, as far as they have any; unknown if they differ.
 * `types` has room for each point. */
void type_of_points(struct type_cascade *self, struct type_answer *types);

/* Bytes of a type by the name in an answer, 0 = unknown. Needs a query with `guess`. */
u64 type_size(const struct type_cascade *self, const char *name);

/* The type of the point that allocates with this stack, by source->types; NULL = unknown. */
const char *stack_type(const struct stack_source *source, struct frame_id frame);

const char *type_origin_name(u8 origin);         /* "declared", "vtable", "frame" … */
const char *type_confidence_name(u8 confidence); /* "exact", "likely", "guess", "unknown" */

#endif
