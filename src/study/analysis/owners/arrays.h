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

/* Adds a chunk that two pointers in a row lead to, to its start and behind what is used of it. */
void array_add_used(struct containing *self, u32 node, u64 edge);

/* Adds a chunk whose number of places stands beside the pointer to its start, with how many of them
 * are used. */
void array_add_counted(struct containing *self, u32 node, u64 edge);

#endif
