/* SPDX-License-Identifier: MIT
 * Bits by chunk number.
 * Host. */
#include "study/query/selection.h"

#include <string.h>

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
