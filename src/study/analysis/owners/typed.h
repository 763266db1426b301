/* SPDX-License-Identifier: MIT
 * Types of chunks as the pointers to them are declared. */
#ifndef STUDY_ANALYSIS_OWNERS_TYPED_H
#define STUDY_ANALYSIS_OWNERS_TYPED_H

#include "study/analysis/owners/held.h"

/* Fills type_of and base_of, and names chunks of which nothing but the place was known. Needs the
 * kinds of all nodes. False without memory. */
bool owner_types_find(struct owners *self);

/* What a node is by its type: one object or so many. */
struct owner_object {
	const struct declared_type *type; /* NULL = unknown, or of unknown size */
	u64 base;                         /* where the first begins */
	bool is_many;
};
struct owner_object owner_object(struct owners *self, u32 node);

/* An offset of a node in terms of its type: which object, and where in it. */
struct owner_spot {
	u32 type; /* NO_DECLARED = unknown: offset is that of the node */
	bool is_many;
	u64 object, offset;
};
struct owner_spot owner_spot(struct owners *self, u32 node, u64 offset);

/* The declared type of what a pointer at this offset of a node leads to. */
u32 owner_lead(struct owners *self, u32 node, u64 offset);

#endif
