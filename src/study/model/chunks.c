/* SPDX-License-Identifier: MIT
 * Pages of chunk columns.
 * Host. Never moves a page, so pointers to it stay valid until release. */
#include "study/model/chunks.h"

#include "study/model/columns.h"

enum { NUMBERS_STEP = 4 << 20 }; /* of a list that is read as a whole: 16 MB at a time */

struct chunk_page *chunk_table_add(struct chunk_table *self, u64 chunk)
{
	u64 number = chunk / CHUNK_PAGE;

	if (!vec_extend(&self->pages, number + 1))
		return NULL;
	if (!self->pages.data[number])
		/* zeros: every chunk begins as CHUNK_ABSENT */
		self->pages.data[number] =
			column_page_new(self->store, sizeof(struct chunk_page), number);
	if (self->pages.data[number] && chunk >= self->count)
		self->count = chunk + 1;
	return self->pages.data[number];
}

void chunk_table_release(struct chunk_table *self)
{
	for (u64 i = 0; i < self->pages.count && !self->store; i++)
		free(self->pages.data[i]);
	vec_release(&self->pages);
	vec_release(&self->zones);
	self->count = 0;
}

static void widen(u64 *first, u64 *last, u64 value)
{
	if (value < *first)
		*first = value;
	if (value > *last)
		*last = value;
}

static struct chunk_zone zone_of(const struct chunk_page *page)
{
	struct chunk_zone zone = {.alloc_first = UINT64_MAX,
				  .free_first = UINT64_MAX,
				  .min_size = UINT64_MAX};

	for (u32 k = 0; page && k < CHUNK_PAGE; k++) {
		if (page->end[k] == CHUNK_ABSENT)
			continue;
		zone.chunks++;
		widen(&zone.alloc_first, &zone.alloc_last, page->alloc_ticks[k]);
		widen(&zone.min_size, &zone.max_size, page->size[k]);
		if (page->end[k] == CHUNK_FREED || page->end[k] == CHUNK_IMPLIED)
			widen(&zone.free_first, &zone.free_last, page->free_ticks[k]);
		else
			zone.unfreed++;
	}
	return zone;
}

bool chunk_table_make_zones(struct chunk_table *self)
{
	if (self->zones.count == self->pages.count)
		return true;
	vec_clear(&self->zones);
	if (!vec_reserve(&self->zones, self->pages.count))
		return false;
	for (u64 i = 0; i < self->pages.count; i++) {
		if (self->store && i % 64 == 0)
			column_store_trim(self->store);
		self->zones.data[i] = zone_of(self->pages.data[i]);
	}
	self->zones.count = self->pages.count;
	return true;
}

static bool has_all(const struct chunk_table *self, const u32 *numbers, u64 count, u32 shift,
		    bool gaps)
{
	u32 highest = 0;

	for (u64 i = 0; i < count; i++)
		highest = numbers[i] > highest ? numbers[i] : highest;
	if (highest >> shift >= self->count)
		return false;
	for (u64 i = 0; gaps && i < count; i++)
		if (!chunk_at(self, numbers[i] >> shift))
			return false;
	return true;
}

bool chunk_table_has_all(const struct chunk_table *self, const u32 *numbers, u64 count, u32 shift)
{
	bool gaps = false, all = true;

	for (u64 i = 0; i < self->pages.count; i++)
		gaps |= !self->pages.data[i];
	for (u64 i = 0; i < count && all; i += NUMBERS_STEP) {
		u64 some = count - i < NUMBERS_STEP ? count - i : NUMBERS_STEP;

		all = has_all(self, numbers + i, some, shift, gaps);
		if (self->store)
			column_store_let_go(self->store, numbers + i, some * sizeof *numbers);
	}
	return all;
}

void chunk_table_release_range(const struct chunk_table *self, u64 first, u64 end)
{
	first = (first + CHUNK_PAGE - 1) / CHUNK_PAGE;
	end /= CHUNK_PAGE;
	for (u64 i = first; self->store && i < end && i < self->pages.count; i++)
		if (self->pages.data[i])
			column_store_let_go(self->store, self->pages.data[i],
					    sizeof(struct chunk_page));
}
