/* SPDX-License-Identifier: MIT
 * Builds the index of live blocks; see index.h. Runs on a scan's thread. Ten million blocks
 * take about a second and 30 bytes each. */
#define _GNU_SOURCE
#include "live/scan/index.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/huge.h"

#include "host/base/search.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Blocks further apart are in different regions: a table over the space between would be waste. */
static const u64 GAP_BYTES = 1 << 20;

static const u64 BLOCKS_MAX = INT32_MAX; /* edges.h needs a bit */

static int out_of_memory(struct err *err) { return err_memory(err); }

/* ---- sorting --------------------------------------------------------------------------------- */

static inline u64 key_of(const u8 *item)
{
	u64 key;

	memcpy(&key, item, sizeof(key));
	return key;
}

static void sort_by_digit(const u8 *from, u8 *to, u64 count, u64 item_bytes, u32 shift)
{
	u64 place[DIGITS] = {0}, sum = 0;

	for (u64 i = 0; i < count; i++)
		place[key_of(from + i * item_bytes) >> shift & (DIGITS - 1)]++;
	for (u32 i = 0; i < DIGITS; i++) {
		u64 here = place[i];

		place[i] = sum;
		sum += here;
	}
	for (u64 i = 0; i < count; i++) {
		const u8 *item = from + i * item_bytes;
		u64 at = place[key_of(item) >> shift & (DIGITS - 1)]++;

		memcpy(to + at * item_bytes, item, item_bytes);
	}
}

bool scan_sort(void *items, u64 count, u64 item_bytes)
{
	u8 *from = items, *to, *scratch;
	u64 differ = 0;

	for (u64 i = 1; i < count; i++)
		differ |= key_of(from + i * item_bytes) ^ key_of(from);
	if (!differ)
		return true;
	scratch = malloc(count * item_bytes);
	if (!scratch)
		return false;
	to = scratch;
	for (u32 shift = 0; shift < 64 && differ >> shift; shift += DIGIT_BITS) {
		u8 *other = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue; /* all have the same digit there */
		sort_by_digit(from, to, count, item_bytes, shift);
		from = to;
		to = other;
	}
	if (from != (u8 *)items)
		memcpy(items, from, count * item_bytes);
	free(scratch);
	return true;
}

/* ---- index ----------------------------------------------------------------------------------- */

static u32 granule_shift(const struct scan_region *region)
{
	u32 shift = 4;

	while ((region->end - region->start) >> shift > (u64)region->count * 2 + 64)
		shift++;
	return shift;
}

static bool region_fill(struct scan_index *self, struct scan_region *region)
{
	u64 granules = ((region->end - region->start) >> region->shift) + 2;
	u64 at = self->table.count, block = 0;

	if (at + granules > UINT32_MAX || !vec_reserve(&self->table, granules))
		return false;
	region->granules = (u32)at;
	for (u64 i = 0; i < granules; i++) {
		u64 start = region->start + (i << region->shift);

		while (block < region->count &&
		       self->blocks.data[region->first + block].address < start)
			block++;
		self->table.data[self->table.count++] = (u32)block;
	}
	return true;
}

static u64 block_end(const struct scan_block *block)
{
	u64 end = block->address + scan_block_extent(block);

	return end > block->address ? end : UINT64_MAX;
}

static bool regions_make(struct scan_index *self)
{
	struct scan_region *last = NULL;

	for (u64 i = 0; i < self->blocks.count; i++) {
		const struct scan_block *block = &self->blocks.data[i];
		struct scan_region fresh = {.start = block->address, .first = (u32)i};

		if (!last ||
		    (block->address > last->end && block->address - last->end > GAP_BYTES)) {
			if (!vec_push(&self->regions, fresh))
				return false;
			last = &self->regions.data[self->regions.count - 1];
		}
		last->count++;
		if (block_end(block) > last->end)
			last->end = block_end(block);
	}
	if (!vec_reserve(&self->table, self->blocks.count * 2 + self->regions.count * 66))
		return false;
	huge_ask(self->table.data, self->table.capacity * sizeof(u32));
	for (u64 i = 0; i < self->regions.count; i++) {
		self->regions.data[i].shift = granule_shift(&self->regions.data[i]);
		if (!region_fill(self, &self->regions.data[i]))
			return false;
	}
	return true;
}

/* Blocks and mappings are sorted, so that each is looked at once. */
static bool blocks_cut(struct scan_index *self, const struct scan_memory *memory)
{
	const struct mapping *next = memory->mappings.data, *end = next + memory->mappings.count;
	struct scan_span mapped = {0};

	for (u64 i = 0; i < self->blocks.count; i++) {
		struct scan_block *block = &self->blocks.data[i];
		struct scan_cut cut = {.block = (u32)i, .bytes = block->size};
		u64 there;

		for (; mapped.end <= block->address && next < end; next++)
			mapped = (struct scan_span){next->start, next->end};
		for (; next < end && next->start == mapped.end; next++)
			mapped.end = next->end;
		there = block->address >= mapped.start && block->address < mapped.end
				? mapped.end - block->address
				: 0;
		if (likely(block->size <= there))
			continue;
		cut.bytes -= there;
		block->size = there;
		if (!vec_push(&self->cuts, cut))
			return false;
	}
	return true;
}

int scan_index_build(struct scan_index *self, const struct scan_memory *memory, struct err *err)
{
	if (self->blocks.count > BLOCKS_MAX)
		return err_set(err, ERR_SYSTEM, "there are more than two billion blocks");
	if (!scan_sort(self->blocks.data, self->blocks.count, sizeof(struct scan_block)) ||
	    !blocks_cut(self, memory) || !regions_make(self))
		return out_of_memory(err);
	for (u64 i = 0; i < self->blocks.count; i++)
		self->bytes += self->blocks.data[i].size;
	return 0;
}

void scan_index_find_all(const struct scan_index *self, const u64 *addresses, u32 *blocks,
			 u32 count)
{
	const struct scan_region *regions[SCAN_GROUP];

	for (u32 i = 0; i < count; i++) {
		regions[i] = scan_region_of(self, addresses[i]);
		if (regions[i])
			__builtin_prefetch(scan_granule(self, regions[i], addresses[i]));
	}
	for (u32 i = 0; i < count; i++) {
		if (regions[i])
			__builtin_prefetch(
				&self->blocks.data[regions[i]->first +
						   *scan_granule(self, regions[i], addresses[i])]);
	}
	for (u32 i = 0; i < count; i++)
		blocks[i] =
			regions[i] ? scan_region_find(self, regions[i], addresses[i]) : NO_BLOCK;
}

static bool is_cut(const struct scan_index *self, u32 block)
{
	u64 before = bisect(at, self->cuts.count, self->cuts.data[at].block < block);

	return before < self->cuts.count && self->cuts.data[before].block == block;
}

u32 scan_index_ends(const struct scan_index *self, u64 address)
{
	u32 number = scan_index_find(self, address - 1);
	const struct scan_block *block;

	if (likely(number == NO_BLOCK))
		return NO_BLOCK;
	block = &self->blocks.data[number];
	return block->address + block->size == address && block->size < UINT32_MAX &&
			       !is_cut(self, number)
		       ? number
		       : NO_BLOCK;
}

/* Blocks further apart than this are not read in one piece. */
static const u64 PIECE_GAP = 16 << 10;

u32 scan_index_piece(const struct scan_index *self, u32 first, u32 end, u64 *piece_end)
{
	u64 start = self->blocks.data[first].address & -(u64)SCAN_PAGE;
	u32 next = first;

	for (*piece_end = start; next < end; next++) {
		const struct scan_block *block = &self->blocks.data[next];
		u64 until = block->address + block->size;

		if (block->size >= SCAN_LARGE || until > start + SCAN_BUFFER - SCAN_PAGE ||
		    (next > first && block->address > *piece_end + PIECE_GAP))
			break;
		if (until > *piece_end)
			*piece_end = until;
	}
	return next;
}

u64 scan_index_span(const struct scan_index *self)
{
	u64 bytes = 0;

	for (u64 i = 0; i < self->regions.count; i++)
		bytes += self->regions.data[i].end - self->regions.data[i].start;
	return bytes;
}

static bool block_take(void *data, const struct live_block *live)
{
	struct scan_index *self = data;
	struct scan_block block = {live->address, live->size, live->chunk & ~LIVE_QUEUED};

	return vec_push(&self->blocks, block);
}

int scan_index_fill(struct scan_index *self, const struct correlator *correlator, struct err *err)
{
	struct stream_totals totals;

	correlator_totals(correlator, &totals);
	if (!vec_reserve(&self->blocks, totals.kept_chunks))
		return out_of_memory(err);
	huge_ask(self->blocks.data, self->blocks.capacity * sizeof(struct scan_block));
	if (!correlator_each_block(correlator, block_take, self))
		return out_of_memory(err);
	return 0;
}

void scan_index_release(struct scan_index *self)
{
	vec_release(&self->blocks);
	vec_release(&self->cuts);
	vec_release(&self->regions);
	vec_release(&self->table);
}
