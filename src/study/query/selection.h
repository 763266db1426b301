/* SPDX-License-Identifier: MIT
 * Which chunks of a model are meant: one bit per chunk number.
 *
 *	struct selection selection = {0};          (all zero = all chunks of no model)
 *	if (selection_has(&selection, chunk)) ...
 *	selection_release(&selection);
 */
#ifndef STUDY_QUERY_SELECTION_H
#define STUDY_QUERY_SELECTION_H

#include "study/model/model.h"

struct selection {
	u64 *words;        /* bit chunk % 64 of word chunk / 64; NULL = all of them */
	u64 count;         /* chunk numbers of the model */
	u64 chunks, bytes; /* that are in it: plain chunk count, requested bytes */
};

static inline bool selection_has(const struct selection *self, u64 chunk)
{
	return !self->words || (self->words[chunk / 64] >> (chunk % 64) & 1);
}

/* Words that `count` chunk numbers take. Whole pages, so that a page's bits can be written at
 * once. */
static inline u64 selection_words(u64 count)
{
	return (count + CHUNK_PAGE - 1) / CHUNK_PAGE * (CHUNK_PAGE / 64);
}

/* An empty one for the model, or one of all known chunks; false if there is no memory. */
bool selection_init(struct selection *self, const struct model *model);
bool selection_copy(struct selection *self, const struct selection *from);
void selection_release(struct selection *self);

/* Sets chunks and bytes anew by the bits, after these were written. */
void selection_count(struct selection *self, const struct model *model);

/* What they stand for: all of a run that was not recorded in full stand for what it was. */
struct selection_sums {
	u64 allocations, bytes;
};
struct selection_sums selection_weigh(const struct selection *self, const struct model *model);

#endif
