/* SPDX-License-Identifier: MIT
 * Blocks in caches of threads; see caches.h.
 * Host. */
#include "study/analysis/resident/caches.h"

#include "host/base/order.h"
#include "host/base/search.h"

static int by_address(const void *a, const void *b)
{
	const struct cache_block *x = a, *y = b;

	return rising(x->address, y->address) ?: rising(x->look, y->look);
}

static int by_look(const void *a, const void *b)
{
	const struct cache_block *x = a, *y = b;

	return rising(x->look, y->look) ?: rising(x->address, y->address);
}

bool caches_add(struct caches *self, const struct model *model, const struct model_memory *memory,
		u32 look)
{
	if (!vec_reserve(&self->blocks, memory->cached_count))
		return false;
	for (u64 i = 0; i < memory->cached_count; i++) {
		const struct stream_cached *row = &model->cached.data[memory->cached_first + i];

		if (row->address >= CACHES_HEAD)
			self->blocks.data[self->blocks.count++] =
				(struct cache_block){row->address, row->bytes, row->tid, look, 0};
	}
	return true;
}

void caches_sort(struct caches *self)
{
	vec_sort(&self->blocks, by_address);
	self->low = self->blocks.count ? self->blocks.data[0].address : UINT64_MAX;
	self->high = self->blocks.count ? self->blocks.data[self->blocks.count - 1].address : 0;
}

u64 caches_find(const struct caches *self, u64 address)
{
	return bisect(i, self->blocks.count, self->blocks.data[i].address < address);
}

void caches_drop(struct caches *self, u64 address, struct caches_looks looks)
{
	if (address < self->low || address > self->high || looks.from >= looks.to)
		return;
	for (u64 i = caches_find(self, address);
	     i < self->blocks.count && self->blocks.data[i].address == address; i++)
		self->blocks.data[i].state |= self->blocks.data[i].look >= looks.from &&
					      self->blocks.data[i].look < looks.to;
}

void caches_settle(struct caches *self)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->blocks.count; i++)
		if (!self->blocks.data[i].state)
			self->blocks.data[kept++] = self->blocks.data[i];
	self->blocks.count = kept;
	vec_sort(&self->blocks, by_look);
}

u64 caches_of_look(const struct caches *self, u32 look)
{
	return bisect(i, self->blocks.count, self->blocks.data[i].look < look);
}

void caches_release(struct caches *self) { vec_release(&self->blocks); }
