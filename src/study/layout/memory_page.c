/* SPDX-License-Identifier: MIT
 * One page of memory at a look: who holds it, and who had it before; see memory_account.h.
 * Host. */
#include "study/layout/memory_account.h"

#include <stdlib.h>

#include "host/base/bytemap.h"
#include "host/base/order.h"

enum { GRANULE = 8, WORDS = RESIDENT_PAGE / GRANULE / 64 };

struct reading {
	struct memory_page_detail *page;
	struct accounting look;
	u64 covered[WORDS], caches[WORDS]; /* by a block in a cache of a thread */
	VEC(u64) freed;                    /* numbers of chunks */
	bool held; /* by a live block that lies on it, or on a page that goes with it */
};

/* Granules of an extent on the page; from == to if it is elsewhere. */
struct piece {
	u64 from, to;
	u64 bytes;
};

static struct piece piece_of(const struct reading *self, u64 start, u64 end)
{
	u64 address = self->page->address, stop = address + RESIDENT_PAGE;

	start = start > address ? start : address;
	end = end < stop ? end : stop;
	if (end <= start)
		return (struct piece){0};
	return (struct piece){(start - address) / GRANULE, (end - address + GRANULE - 1) / GRANULE,
			      end - start};
}

static struct class_extent extent_of(const struct reading *self, const struct chunk *chunk)
{
	return size_classes_block(&self->look.classes, chunk->page->address[chunk->at],
				  chunk->page->size[chunk->at]);
}

/* How many granules were not covered before, those of blocks in caches apart. */
static u64 cover(struct reading *self, const struct piece *piece, u64 *cached)
{
	u64 found = 0;

	for (u64 i = piece->from; i < piece->to; i++)
		*(bytemap_has(self->caches, i) ? cached : &found) += !bytemap_has(self->covered, i);
	bytemap_set(self->covered, piece->from, piece->to);
	return found;
}

/* The row of a point: rows are few. NULL = out of memory. */
#define share_at(list, point_)                                                                     \
	({                                                                                         \
		struct memory_share *found_ = NULL;                                                \
                                                                                                   \
		for (u64 i_ = 0; i_ < (list)->count && !found_; i_++)                              \
			if ((list)->data[i_].point.index == (point_).index)                        \
				found_ = &(list)->data[i_];                                        \
		if (!found_ && vec_push((list), ((struct memory_share){.point = (point_)})))       \
			found_ = &(list)->data[(list)->count - 1];                                 \
		found_;                                                                            \
	})

static bool add_live(struct reading *self, const struct chunk *chunk, const struct piece *piece)
{
	u64 address = chunk->page->address[chunk->at];
	u64 requested = piece_of(self, address, address + chunk->page->size[chunk->at]).bytes;
	struct memory_share *share = share_at(&self->page->holders, chunk_point(chunk));
	u64 cached = 0;

	if (!share)
		return false;
	cover(self, piece, &cached);
	share->bytes += piece->bytes;
	share->blocks++;
	share->chunk = chunk->number;
	self->page->bytes[ACCOUNT_LIVE] += requested;
	self->page->bytes[ACCOUNT_SLACK] += piece->bytes - requested;
	return true;
}

static bool holds(const struct reading *self, const struct chunk *chunk)
{
	struct class_extent span =
		size_classes_span(&self->look.classes, chunk->page->address[chunk->at],
				  chunk->page->size[chunk->at]);

	return piece_of(self, span.start, span.end).bytes != 0;
}

static bool add_chunks(struct reading *self)
{
	const struct accounting *look = &self->look;

	EACH_CHUNK (chunk, look->model) {
		struct class_extent extent = extent_of(self, &chunk);
		struct piece piece = piece_of(self, extent.start, extent.end);

		if (accounting_is_live(look, &chunk) && holds(self, &chunk))
			self->held = true;
		if (!piece.bytes || chunk.page->alloc_ticks[chunk.at] > look->memory->ticks)
			continue;
		if (accounting_is_live(look, &chunk) ? !add_live(self, &chunk, &piece)
						     : !vec_push(&self->freed, chunk.number))
			return false;
	}
	return true;
}

static void add_caches(struct reading *self)
{
	for (u64 i = 0; i < self->look.caches.blocks.count; i++) {
		const struct cache_block *block = &self->look.caches.blocks.data[i];
		u64 start = block->address - CACHES_HEAD;
		struct piece piece = piece_of(self, start, start + block->bytes);

		bytemap_set(self->caches, piece.from, piece.to);
	}
	for (u32 i = 0; i < RESIDENT_PAGE / GRANULE; i++)
		if (bytemap_has(self->caches, i) && !bytemap_has(self->covered, i))
			self->page->bytes[ACCOUNT_THREAD_CACHES] += GRANULE;
}

/* The latest first: what was not covered before is its own. */
static bool add_freed(struct reading *self)
{
	struct memory_page_detail *page = self->page;
	struct chunk chunk = {.model = self->look.model};
	bool held = self->held || page->holders.count;
	u64 rest = RESIDENT_PAGE;

	for (u64 i = self->freed.count; i-- > 0;) {
		struct class_extent extent;
		struct piece piece;
		struct memory_share *share;
		u64 bytes, cached = 0;

		if (!chunk_take(&chunk, self->freed.data[i]))
			continue;
		extent = extent_of(self, &chunk);
		piece = piece_of(self, extent.start, extent.end);
		bytes = cover(self, &piece, &cached) * GRANULE;
		if (!bytes && !cached)
			continue;
		share = share_at(&page->left, chunk_point(&chunk));
		if (!share)
			return false;
		share->bytes += bytes + cached * GRANULE;
		share->blocks++;
		share->chunk = chunk.number;
		page->bytes[held ? ACCOUNT_LEFT : ACCOUNT_CACHED] += bytes;
	}
	for (u32 i = 0; i < ACCOUNTS; i++)
		rest -= page->bytes[i] < rest ? page->bytes[i] : rest;
	page->bytes[held ? ACCOUNT_PINNED : ACCOUNT_CACHED] += rest;
	return true;
}

static int by_bytes(const void *a, const void *b)
{
	const struct memory_share *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: rising(x->point.index, y->point.index);
}

static bool is_resident(const struct accounting *look, u64 address)
{
	u64 row = accounting_row(look, address);

	return row < look->memory->count && look->rows[row].start <= address &&
	       accounting_part(look, row) == PART_CACHED;
}

int memory_page_make(struct memory_page_detail *self, const struct model *model,
		     const struct model_memory *look, u64 address, struct err *err)
{
	struct reading reading = {.page = self, .look = accounting_of(model, look)};
	int status = accounting_make(&reading.look, err);

	self->address = address / RESIDENT_PAGE * RESIDENT_PAGE;
	self->resident = status == 0 && is_resident(&reading.look, self->address);
	if (self->resident && !add_chunks(&reading))
		status = err_memory_for(err, "the page");
	if (self->resident && status == 0) {
		add_caches(&reading);
		if (!add_freed(&reading))
			status = err_memory_for(err, "the page");
	}
	vec_sort(&self->holders, by_bytes);
	vec_sort(&self->left, by_bytes);
	vec_release(&reading.freed);
	accounting_release(&reading.look);
	return status;
}

void memory_page_release(struct memory_page_detail *self)
{
	vec_release(&self->holders);
	vec_release(&self->left);
}
