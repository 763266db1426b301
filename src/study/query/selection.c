/* SPDX-License-Identifier: MIT
 * Bits by chunk number.
 * Host. */
#include "study/query/selection.h"

#include <string.h>

#include "study/model/each.h"

bool selection_init(struct selection *self, const struct model *model)
{
	*self = (struct selection){.count = model->chunks.count};
	self->words = calloc(selection_words(self->count) + 1, sizeof *self->words);
	return self->words != NULL;
}

bool selection_copy(struct selection *self, const struct selection *from)
{
	u64 bytes = selection_words(from->count) * sizeof *from->words;

	*self = *from;
	if (!from->words)
		return true;
	self->words = malloc(bytes + sizeof *from->words);
	if (!self->words)
		return false;
	memcpy(self->words, from->words, bytes);
	return true;
}

void selection_release(struct selection *self)
{
	free(self->words);
	*self = (struct selection){0};
}

static void count_word(struct selection *self, const struct chunk_page *page, u32 first, u64 word)
{
	self->chunks += (u64)__builtin_popcountll(word);
	for (; word; word &= word - 1)
		self->bytes += page->size[first + (u32)__builtin_ctzll(word)];
}

/* Most words are all or nothing. */
static u64 sum_sizes(const u64 *size)
{
	u64 sum = 0;

	for (u32 i = 0; i < 64; i++)
		sum += size[i];
	return sum;
}

void selection_count(struct selection *self, const struct model *model)
{
	self->chunks = self->bytes = 0;
	for (u64 i = 0; i < model->chunks.pages.count; i++) {
		const struct chunk_page *page = model->chunks.pages.data[i];
		const u64 *words = self->words + i * (CHUNK_PAGE / 64);

		for (u32 w = 0; page && w < CHUNK_PAGE / 64; w++) {
			if (words[w] == UINT64_MAX) {
				self->chunks += 64;
				self->bytes += sum_sizes(page->size + 64 * w);
			} else if (words[w]) {
				count_word(self, page, 64 * w, words[w]);
			}
		}
	}
}

struct selection_sums selection_weigh(const struct selection *self, const struct model *model)
{
	struct selection_sums sums = {self->chunks, self->bytes};
	u64 units = 0, all = 0, weight, bytes;

	if (self->chunks == model->recorded_allocations - model->aggregated_allocations)
		return (struct selection_sums){model_count(model, model->totals.allocations),
					       model->totals.bytes};
	if (!model->count_shift)
		return sums;
	EACH_CHUNK (chunk, model, .words = self->words) {
		model_weigh(model, chunk.page->size[chunk.at], &weight, &bytes);
		units += weight;
		all += bytes;
	}
	return (struct selection_sums){model_count(model, units), all};
}
