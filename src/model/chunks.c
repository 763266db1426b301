/* SPDX-License-Identifier: MIT
 * Pages of chunk columns.
 * Host. Never moves a page, so pointers to it stay valid until release. */
#include "model/chunks.h"

struct chunk_page *chunk_table_add(struct chunk_table *self, u64 chunk)
{
	u64 number = chunk / CHUNK_PAGE;

	if (!vec_extend(&self->pages, number + 1))
		return NULL;
	if (!self->pages.data[number])
		/* zeros: every chunk begins as CHUNK_ABSENT */
		self->pages.data[number] = calloc(1, sizeof(struct chunk_page));
	if (self->pages.data[number] && chunk >= self->count)
		self->count = chunk + 1;
	return self->pages.data[number];
}

void chunk_table_release(struct chunk_table *self)
{
	for (u64 i = 0; i < self->pages.count; i++)
		free(self->pages.data[i]);
	vec_release(&self->pages);
	self->count = 0;
}
