/* SPDX-License-Identifier: MIT
 * Arrays and hash tables by shape: many places, a fixed distance apart, whose pointers lead to
 * chunks that are alike. */
#ifndef STUDY_ANALYSIS_OWNERS_ARRAYS_H
#define STUDY_ANALYSIS_OWNERS_ARRAYS_H

#include "study/analysis/owners/contain.h"

enum { ARRAY_FILLED_MIN = 8 }; /* places with pointers */

/* Where an array may be. */
struct array_region {
	u32 node;
	u64 start, bytes;
	u64 stride; /* of its places, 0 = to be found out */
};

/* Adds an array or hash table that is there, if there is one. */
void array_add(struct containing *self, const struct array_region *region);

/* Adds chunks that two pointers of the node in a row lead to, to their start and behind what is
 * used of them. */
void array_add_used(struct containing *self, u32 node);

/* Adds chunks whose number of places stands beside the node's pointer to their start, with how many
 * of them are used. */
void array_add_counted(struct containing *self, u32 node);

#endif
