/* SPDX-License-Identifier: MIT
 * Births and ends of a model's chunks in the order of their times, a part of the run after the
 * other, so that a model of any size takes bounded memory for it.
 *
 * Of those at one moment the ends of chunks that were there before come first, because frees are
 * stamped before they happen and allocations after; then what is born, in order of birth. A chunk
 * that does not end after its birth, as stamps may be estimates, ends right after it. */
#ifndef STUDY_MODEL_MOMENTS_H
#define STUDY_MODEL_MOMENTS_H

#include "study/model/model.h"

struct moment {
	u64 ticks, size;
	u64 code; /* chunk << 1 | 1 if it is freed */
	u32 point;
	bool brief; /* of a chunk that does not end after its birth */
};

/* As many as zones of pages tell, which are known; those of brief chunks are counted, too. */
u64 moments_count(const struct model *model);

/* Gives all of them to `take`, some millions at a time. */
int moments_each(struct model *model,
		 int (*take)(void *self, const struct moment *moments, u64 count, struct err *err),
		 void *self, struct err *err);

#endif
