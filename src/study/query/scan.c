/* SPDX-License-Identifier: MIT
 * Passes over the chunks of a selection.
 * Host. */
#include <pthread.h>
#include <string.h>

#include "study/query/plan.h"

enum {
	PAGE_BLOCKS = CHUNK_PAGE / BLOCK,
	BLOCK_WORDS = BLOCK / 64,
	PAGES_EACH = 8, /* from twice that on a second thread helps: about 0.3 ms of work each */
	STRIDE_PAGES = CHUNK_STRIDE / CHUNK_PAGE,
};

/* ---- passes ---- */

/* 64 bytes that are 0 or 1 → 64 bits. */
static u64 pack(const u8 *bytes)
{
	u64 word = 0;

	for (u32 i = 0; i < 8; i++) {
		u64 eight;

		memcpy(&eight, bytes + 8 * i, 8);
		word |= (eight * 0x0102040810204080ull >> 56) << (8 * i);
	}
	return word;
}

static bool any_bit(const u64 *words, u32 count)
{
	u64 any = 0;

	for (u32 i = 0; i < count; i++)
		any |= words[i];
	return any != 0;
}

/* Moves to the block of this number in a page. */
static void block_take(struct block *self, const struct scan *scan, u64 page, u32 number)
{
	self->first = number * BLOCK;
	self->chunk = page * CHUNK_PAGE + self->first;
	self->colors = scan->colors ? scan->colors + self->chunk : NULL;
}

struct filter {
	const struct scan *scan;
	const struct mask_plan *mask;
	u64 from, to; /* pages */
	u64 chunks, bytes;
};

static void filter_page(const struct filter *self, u64 number, const struct chunk_page *page,
			u64 *words)
{
	struct block block = {.domain = self->scan->domain,
			      .page = page,
			      .count = BLOCK,
			      .palette = self->scan->palette};
	u8 holds[BLOCK];

	for (u32 b = 0; b < PAGE_BLOCKS; b++) {
		u64 *bits = words + b * BLOCK_WORDS;

		if (!any_bit(bits, BLOCK_WORDS))
			continue;
		block_take(&block, self->scan, number, b);
		mask_eval(self->mask, &block, holds);
		for (u32 i = 0; i < BLOCK_WORDS; i++)
			bits[i] &= pack(holds + 64 * i);
	}
}

static void count_page(struct filter *self, const struct chunk_page *page, const u64 *words)
{
	for (u32 w = 0; w < CHUNK_PAGE / 64; w++) {
		const u64 *size = page->size + 64 * w;
		u64 word = words[w], sum = 0;

		if (!word)
			continue;
		self->chunks += (u64)__builtin_popcountll(word);
		for (u32 i = 0; i < 64; i++)
			sum += size[i] & -(word >> i & 1);
		self->bytes += sum;
	}
}

static void *filter_pages(void *data)
{
	struct filter *self = data;
	const struct chunk_table *chunks = &self->scan->domain->model->chunks;

	for (u64 i = self->from; i < self->to; i++) {
		const struct chunk_page *page = chunks->pages.data[i];
		const struct chunk_zone *zone = chunk_zone(chunks, i);
		u64 *words = self->scan->selection->words + i * (CHUNK_PAGE / 64);
		enum zone_answer answer = zone ? mask_zone(self->mask, zone) : ZONE_SOME;

		if (!page || answer == ZONE_NONE)
			memset(words, 0, CHUNK_PAGE / 8);
		if (!page || !any_bit(words, CHUNK_PAGE / 64))
			continue;
		if (answer == ZONE_SOME)
			filter_page(self, i, page, words);
		count_page(self, page, words);
		if (i % STRIDE_PAGES == STRIDE_PAGES - 1)
			model_release_range(self->scan->domain->model,
					    (i + 1 - STRIDE_PAGES) * CHUNK_PAGE,
					    (i + 1) * CHUNK_PAGE);
	}
	return NULL;
}

/* The types of single chunks are asked of a cascade, which is not for two. */
static bool value_is_serial(const struct value_plan *self);

static bool mask_is_serial(const struct mask_plan *self)
{
	bool serial = (self->left && value_is_serial(self->left)) ||
		      (self->right && value_is_serial(self->right));

	for (u64 i = 0; self->args && i < self->count; i++)
		serial |= mask_is_serial(self->args[i]);
	return serial;
}

static bool value_is_serial(const struct value_plan *self)
{
	bool serial = self->op == VALUE_FIELD && self->field == F_COUNT;

	for (u32 i = 0; i < 2; i++)
		serial |= self->args[i] && value_is_serial(self->args[i]);
	for (u64 i = 0; self->masks && i < self->count; i++)
		serial |= mask_is_serial(self->masks[i]);
	return serial;
}

void scan_filter(const struct scan *scan, const struct mask_plan *mask)
{
	u64 pages = scan->domain->model->chunks.pages.count;
	struct filter left = {.scan = scan, .mask = mask, .to = pages}, right = left;
	pthread_t thread;
	bool helped = pages >= 2 * PAGES_EACH && !mask_is_serial(mask);

	if (helped) {
		left.to = right.from = pages / 2;
		helped = pthread_create(&thread, NULL, filter_pages, &right) == 0;
		if (!helped)
			left.to = pages;
	}
	filter_pages(&left);
	if (helped)
		pthread_join(thread, NULL);
	scan->selection->chunks = left.chunks + (helped ? right.chunks : 0);
	scan->selection->bytes = left.bytes + (helped ? right.bytes : 0);
}

void scan_blocks(const struct scan *scan,
		 bool (*each)(void *self, const struct block *block, const u64 *bits), void *self)
{
	const struct chunk_table *chunks = &scan->domain->model->chunks;
	struct block block = {.domain = scan->domain, .count = BLOCK, .palette = scan->palette};

	for (u64 i = 0; i < chunks->pages.count; i++) {
		block.page = chunks->pages.data[i];
		for (u32 b = 0; block.page && b < PAGE_BLOCKS; b++) {
			const u64 *bits =
				scan->selection->words + i * (CHUNK_PAGE / 64) + b * BLOCK_WORDS;

			if (!any_bit(bits, BLOCK_WORDS))
				continue;
			block_take(&block, scan, i, b);
			if (!each(self, &block, bits))
				return;
		}
		model_pass(scan->domain->model, i * CHUNK_PAGE);
	}
}
