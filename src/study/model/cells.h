/* SPDX-License-Identifier: MIT
 * What is known of some chunks only, by chunk number: cells of one size, in pages that are made
 * where something is told, so that recordings without it pay nothing. */
#ifndef STUDY_MODEL_CELLS_H
#define STUDY_MODEL_CELLS_H

#include "host/base/vec.h"
#include "study/model/chunks.h"
#include "study/model/columns.h"

struct cell_pages {                 /* all zero = empty and ready */
	VEC(void *) pages;          /* by chunk / CHUNK_PAGE; NULL: none of that page is known */
	struct column_store *store; /* where pages lie; NULL = in memory of their own */
};

/* The cell of a chunk, `bytes` each; NULL if none of its page is known. */
static inline void *cell_find(const struct cell_pages *self, u64 chunk, u64 bytes)
{
	u64 page = chunk / CHUNK_PAGE;

	if (page >= self->pages.count || !self->pages.data[page])
		return NULL;
	return (u8 *)self->pages.data[page] + chunk % CHUNK_PAGE * bytes;
}

/* The same, made if needed; NULL if there is no memory. */
void *cell_make(struct cell_pages *self, u64 chunk, u64 bytes);

/* See chunk_table_release_range. */
void cell_pages_release_range(const struct cell_pages *self, u64 bytes, u64 first, u64 end);

void cell_pages_release(struct cell_pages *self);

#endif
