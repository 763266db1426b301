/* SPDX-License-Identifier: MIT
 * Pages of cells.
 * Host. Never moves a page. */
#include "study/model/cells.h"

#include <stdlib.h>

void *cell_make(struct cell_pages *self, u64 chunk, u64 bytes)
{
	u64 page = chunk / CHUNK_PAGE;

	if (!vec_extend(&self->pages, page + 1))
		return NULL;
	if (!self->pages.data[page])
		self->pages.data[page] = column_page_new(self->store, CHUNK_PAGE * bytes, page);
	return cell_find(self, chunk, bytes);
}

void cell_pages_release_range(const struct cell_pages *self, u64 bytes, u64 first, u64 end)
{
	first = (first + CHUNK_PAGE - 1) / CHUNK_PAGE;
	end /= CHUNK_PAGE;
	for (u64 i = first; self->store && i < end && i < self->pages.count; i++)
		if (self->pages.data[i])
			column_store_let_go(self->store, self->pages.data[i], CHUNK_PAGE * bytes);
}

void cell_pages_release(struct cell_pages *self)
{
	for (u64 i = 0; i < self->pages.count && !self->store; i++)
		free(self->pages.data[i]);
	vec_release(&self->pages);
}
