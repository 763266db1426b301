/* SPDX-License-Identifier: MIT
 * The one loop over chunks. Chunks whose allocation is not known are passed over, and what lies
 * behind is let go of if the columns may be larger than memory.
 *
 *	EACH_CHUNK(chunk, model)                                    all
 *	EACH_CHUNK(chunk, model, .words = mask)                     those whose bit is set
 *	EACH_CHUNK(chunk, model, .numbers = list, .count = count)   those of a list, as that of a point
 *	EACH_CHUNK(chunk, model, .kept = true)                      those that were not freed
 *		bytes += chunk.page->size[chunk.at];
 *
 * A model that forgets chunks has the last ones only: any other loop sees none, and what comes out
 * is to be thrown away (model_lacks_chunks). */
#ifndef STUDY_MODEL_EACH_H
#define STUDY_MODEL_EACH_H

#include "study/model/model.h"

/* A chunk: page->size[at] and so on are its columns. */
struct chunk {
	const struct model *model;
	const u64 *words;
	const u32 *numbers;
	u64 count; /* of numbers */
	bool kept;
	u64 next; /* where the loop goes on */
	const struct chunk_page *page;
	u64 number;
	u32 at;
};

#define EACH_CHUNK(chunk_, ...)                                                                    \
	for (struct chunk chunk_ = {.model = __VA_ARGS__}; chunk_next(&chunk_);)

/* Takes this chunk; false if nothing is known of it. */
static inline bool chunk_take(struct chunk *self, u64 number)
{
	self->number = number;
	self->page = chunk_at(&self->model->chunks, number);
	self->at = (u32)(number % CHUNK_PAGE);
	return self->page && self->page->end[self->at] != CHUNK_ABSENT;
}

/* Each chunk of a list brings its neighbours into memory: what has gathered is let go of now and
 * then. */
static inline bool chunk_next_listed(struct chunk *self)
{
	enum { REST = 2048 };

	while (self->next < self->count) {
		u64 number = self->numbers[self->next++];

		if (unlikely(self->next % REST == 0))
			model_rest(self->model);
		if (chunk_take(self, number))
			return true;
	}
	return false;
}

static inline struct point_id chunk_point(const struct chunk *self)
{
	return model_point_of(self->model, self->page->alloc_context[self->at]);
}

/* Whoever saw it. */
static inline bool chunk_is_freed(const struct chunk *self)
{
	u8 end = self->page->end[self->at];

	return end == CHUNK_FREED || end == CHUNK_IMPLIED;
}

static inline bool chunk_is_kept(const struct chunk *self)
{
	u8 end = self->page->end[self->at];

	return end == CHUNK_KEPT || end == CHUNK_LIVE;
}

/* For EACH_CHUNK. */
static inline bool chunk_next(struct chunk *self)
{
	const struct chunk_table *table = &self->model->chunks;

	if (!self->kept && model_lacks_chunks(self->model))
		return false;
	if (self->numbers)
		return chunk_next_listed(self);
	for (u64 i = self->next; i < table->count; i++) {
		u64 rest = self->words ? self->words[i / 64] >> (i % 64) : 1;

		model_pass(self->model, i);
		if (!rest) {
			i |= 63;
			continue;
		}
		i += (u64)__builtin_ctzll(rest);
		if (chunk_take(self, i) && (!self->kept || !chunk_is_freed(self))) {
			self->next = i + 1;
			return true;
		}
		if (unlikely(!self->page))
			i |= CHUNK_PAGE - 1;
	}
	return false;
}

#endif
