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

/* An offset of a node in terms of its type: which object, and where in it. Whoever asks for many
 * of a node asks for its object first. */
struct owner_spot {
	u32 type; /* NO_DECLARED = unknown: offset is that of the node */
	bool is_many;
	u64 object, offset;
};
static inline struct owner_spot owner_spot_in(const struct owners *self, u32 node,
					      const struct owner_object *object, u64 offset)
{
	struct owner_spot spot = {.type = NO_DECLARED, .offset = offset};

	if (!object->type || offset < object->base)
		return spot;
	spot.type = self->type_of[node];
	spot.offset = offset - object->base;
	if (!object->is_many)
		return spot;
	spot.is_many = true;
	spot.object = spot.offset / object->type->size;
	spot.offset %= object->type->size;
	return spot;
}
struct owner_spot owner_spot(struct owners *self, u32 node, u64 offset);

/* The declared type of what a pointer at this offset of a node leads to. */
static inline u32 owner_lead_in(struct owners *self, u32 node, const struct owner_object *object,
				u64 offset)
{
	struct owner_spot spot = owner_spot_in(self, node, object, offset);

	return owner_members_lead(&self->members, spot.type, spot.offset);
}
u32 owner_lead(struct owners *self, u32 node, u64 offset);

#endif
