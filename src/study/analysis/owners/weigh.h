/* SPDX-License-Identifier: MIT
 * Which pointers count: stacks and registers often have copies of pointers that somebody else owns,
 * in use or left over, and the C library's allocator has pointers into free memory. They hold only
 * what no variable leads to. Defined in docs/METHODS.md, "Owners". */
#ifndef STUDY_ANALYSIS_OWNERS_WEIGH_H
#define STUDY_ANALYSIS_OWNERS_WEIGH_H

#include "study/analysis/owners/roots.h"

/* By edge, a bit that is set where it does not count, as dominators_find takes it; to be freed.
 * NULL if there is no memory. Doubtful edges, a set as well or NULL, hold only what no other ones
 * lead to. */
u64 *owner_weigh(const struct owner_roots *roots, const u64 *doubtful);

#endif
