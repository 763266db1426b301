/* SPDX-License-Identifier: MIT
 * How containers are added, by those who recognise them: first their parts, then what they are.
 *
 *	contain_take(self, chunk);
 *	contain_end(self, &(struct owner_container){.holder = node, .first = chunk, …});
 */
#ifndef STUDY_ANALYSIS_OWNERS_CONTAIN_H
#define STUDY_ANALYSIS_OWNERS_CONTAIN_H

#include "study/analysis/owners/held.h"

#define NO_EDGE UINT64_MAX

enum { CONTAINERS_MAX = 1 << 20 };

struct containing {
	struct owners *owners;
	u64 least;      /* bytes: what retains less is left out */
	VEC(u32) parts; /* of the container that is being recognised */
	VEC(u32) stack; /* scratch */
	bool failed;
};

/* Makes a chunk a part of the next container; false if it is one of some container already. */
bool contain_take(struct containing *self, u32 node);
/* Gives parts back, all but the first `kept`. */
void contain_give_back(struct containing *self, u64 kept);
/* Adds the container with the parts that were taken; or gives them back, if it is too small. */
void contain_end(struct containing *self, const struct owner_container *container);

/* The pointer at an offset of a node, NO_EDGE = there is none; and only if it counts. */
u64 contain_any_edge(const struct owners *self, u32 node, u64 offset);
u64 contain_edge(const struct owners *self, u32 node, u64 offset);
/* The chunk that it leads to, UINT32_MAX = there is none. */
u32 contain_target(const struct owners *self, u32 node, u64 offset);

/* The number beside a pointer of the node, so many words behind it or before; 0 if none is kept. */
u64 contain_number(const struct owners *self, u32 node, u64 edge, int words);

/* Whether two chunks are elements of one kind: of one type, or else from one place and of one size
 * or call stack. A place alone may be a function that allocates for all others. */
static inline bool contain_alike(const struct owners *self, u32 a, u32 b)
{
	return self->kind_of[a] == self->kind_of[b] &&
	       (owners_kind(self, a)->what == OWNER_TYPE ||
		self->point_of[a] == self->point_of[b] ||
		owners_bytes(self, a) == owners_bytes(self, b));
}

/* Of a container with so many elements of so many places. */
u64 contain_slack(u64 elements, u64 capacity, u64 place_bytes);

#endif
