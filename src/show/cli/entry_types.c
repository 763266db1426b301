/* SPDX-License-Identifier: MIT
 * Asks the cascade of types for the entries of a dump.
 * Host. */
#include "show/cli/entry_types.h"

#include "study/analysis/types/list.h"

static bool find(void *self_, u64 chunk, struct exchange_type *type)
{
	struct entry_types *self = self_;
	const struct chunk_page *page = chunk_at(&self->stacks.model->chunks, chunk);
	struct type_answer answer = type_of_chunk(&self->cascade, chunk);
	bool told = answer.origin == ORIGIN_DECLARED ||
		    (answer.origin == ORIGIN_VTABLE && !answer.sampled);

	if (told || answer.confidence <= TYPE_GUESS)
		return false;
	*type = (struct exchange_type){.name = answer.name,
				       .count = type_elements(&self->cascade, &answer,
							      page->size[chunk % CHUNK_PAGE])};
	return true;
}

int entry_types_init(struct entry_types *self, const struct study *trace, bool sizes,
		     struct exchange_types *types, struct err *err)
{
	struct type_query query = {.source = &self->stacks, .calls = true, .guess = sizes};

	self->stacks = trace->stacks;
	*types = (struct exchange_types){self, find};
	return type_cascade_init(&self->cascade, &query, err);
}

void entry_types_release(struct entry_types *self) { type_cascade_release(&self->cascade); }
