/* SPDX-License-Identifier: MIT
 * What stands at an offset of a type: its name, and what a pointer there leads to. */
#ifndef STUDY_ANALYSIS_OWNERS_MEMBERS_H
#define STUDY_ANALYSIS_OWNERS_MEMBERS_H

#include "host/base/map.h"
#include "host/base/recent.h"
#include "host/base/strbuf.h"
#include "host/symbols/types/declared.h"

struct owner_members { /* all zero = empty */
	struct declared *declared;
	struct map leads;         /* type and offset → type that a pointer there leads to */
	struct recent last_leads; /* the same, elements of arrays each by itself */
	bool failed;
};

/* A type and an offset below UINT32_MAX as one number, which is not 0. */
static inline u64 owner_members_key(u32 type, u64 offset) { return (u64)type << 32 | (offset + 1); }

/* The type of what a pointer at this offset leads to, NO_DECLARED = unknown. Nodes of the standard
 * library's containers are what they hold, not the base that its pointers have. */
u32 owner_members_lead(struct owner_members *self, u32 type, u64 offset);

/* What begins at this offset and has no parts, NULL = nothing does. */
const struct declared_type *owner_members_at(struct owner_members *self, u32 type, u64 offset);

/* ".list.head", "[3].name": adds what is there. Inside the standard library's classes nothing is
 * named. */
void owner_members_put(struct owner_members *self, u32 type, u64 offset, struct strbuf *out);

enum { SHARED_COUNTS = 8 }; /* where a std::shared_ptr has the pointer to its counts */

/* Whether what is there is a part of a std::shared_ptr, and of which offset in it. */
bool owner_members_shared(struct owner_members *self, u32 type, u64 offset, u64 *inside);

void owner_members_release(struct owner_members *self);

#endif
