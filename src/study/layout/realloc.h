/* SPDX-License-Identifier: MIT
 * What a chunk was before realloc, and what realloc made of it. The columns do not say it; a call
 * of realloc ends the one chunk and begins the other in one thread, from one place, with no other
 * allocation of that thread in between. */
#ifndef STUDY_LAYOUT_REALLOC_H
#define STUDY_LAYOUT_REALLOC_H

#include "study/open/study.h"

#define REALLOC_NONE UINT64_MAX

/* The chunk that it was, or that it became; REALLOC_NONE also where stacks were not recorded, by
 * which this is told. */
u64 view_realloc_before(const struct study *trace, u64 chunk);
u64 view_realloc_after(const struct study *trace, u64 chunk);

enum { REALLOC_SIDE_MAX = 100 };

/* The chunk, what it was and what it became, oldest first. */
struct realloc_chain {
	u64 chunks[2 * REALLOC_SIDE_MAX + 1];
	u32 count;
	u32 own;  /* where the chunk itself is */
	bool cut; /* there are more */
};
void view_realloc_chain(const struct study *trace, u64 chunk, struct realloc_chain *chain);

#endif
