/* SPDX-License-Identifier: MIT
 * What the addresses of blocks say of an allocator's size classes. Two blocks that live at the same
 * time are apart by what the first takes, at least. So a size takes at most the least distance that
 * is found behind a block of it, or of a larger one.
 *
 *	struct neighbours seen = {.windows = neighbours_windows(model)};
 *
 *	for each block that lives at a moment
 *		good = neighbours_add(&seen, moment, address, size);
 *	neighbours_judge(&seen, &classes);
 *	neighbours_release(&seen); */
#ifndef STUDY_ANALYSIS_RESIDENT_NEIGHBOURS_H
#define STUDY_ANALYSIS_RESIDENT_NEIGHBOURS_H

#include "study/analysis/resident/classes.h"

struct neighbour {
	u64 address, size;
};

enum { NEIGHBOUR_MOMENTS = 2 };

struct neighbours {
	u64 windows; /* of so many stretches of memory one is looked at; a power of two */
	VEC(struct neighbour) blocks[NEIGHBOUR_MOMENTS];
};

/* So that some 100,000 blocks are looked at. */
u64 neighbours_windows(const struct model *model);

/* A block that lives at one of the moments that are looked at. False if memory is short. */
bool neighbours_add(struct neighbours *self, u32 moment, u64 address, u64 size);

/* Drops rules that the addresses contradict, and infers classes where there are no rules. Returns
 * whether the classes are others now; they are not if memory is short. */
bool neighbours_judge(struct neighbours *self, struct size_classes *classes);

void neighbours_release(struct neighbours *self);

#endif
