/* SPDX-License-Identifier: MIT
 * Which members of a type its chunks read and write. Defined in docs/METHODS.md, "Members". */
#ifndef STUDY_ANALYSIS_TYPES_USAGE_H
#define STUDY_ANALYSIS_TYPES_USAGE_H

#include "study/analysis/typing/types.h"
#include "host/symbols/types/layout.h"

struct member_usage {
	u64 accessed_bytes;   /* of it, in any chunk: read or written */
	u64 bytes[HW_SIDES];  /* those read, and those written */
	u64 chunks[HW_SIDES]; /* that read any byte of it, and that wrote one */
};

struct type_usage {
	VEC(struct member_usage) members; /* as those of the layout */
	u64 words[HW_SIDES]
		 [HW_MAP_WORDS]; /* bytes of an object that are read, or written, in any chunk */
	bool sided;              /* reads and writes were told apart */
	u64 chunks;              /* of points that allocate only this type */
	u64 measured;            /* of which it is known which bytes were accessed */
	u64 mixed;               /* further ones, of which that is known only for all together */
	u64 lower_bound;         /* that other code may have accessed, too */
	u64 read_bytes, written_bytes; /* of these chunks, each access in full */
};

/* `usage` is all zero. */
int type_usage_find(struct type_usage *self, struct type_cascade *types,
		    const struct type_layout *layout, struct err *err);
void type_usage_release(struct type_usage *self);

#endif
