/* SPDX-License-Identifier: MIT
 * Joined entries: their life and their copies.
 * Host. */
#include "study/query/entries.h"

#include <string.h>

void entries_free(struct entries *self)
{
	if (!self)
		return;
	for (u32 i = 0; i < QUERY_TRACES; i++)
		free(self->groups[i]);
	for (u32 i = 0; i < FIELDS; i++) {
		free(self->values[i]);
		free((void *)self->texts[i]);
	}
	for (u32 i = 0; i < QUERY_KEYS_MAX; i++)
		free(self->key_values[i]);
	for (u64 i = 0; i < self->aggs.count; i++)
		free(self->aggs.data[i].numbers);
	vec_release(&self->aggs);
	free(self->entry_of);
	free(self->frames);
	free(self->frame_traces);
	free(self);
}

static bool copy_array(void *to, const void *from, u64 bytes)
{
	void **out = to;

	if (!from)
		return true;
	*out = malloc(bytes + 8);
	if (*out)
		memcpy(*out, from, bytes);
	return *out != NULL;
}

struct entries *entries_copy(const struct entries *self)
{
	struct entries *copy = calloc(1, sizeof *copy);
	u64 bytes = self->count * sizeof(double);
	bool fine = copy != NULL;

	if (!copy)
		return NULL;
	copy->count = self->count;
	copy->key_count = self->key_count;
	copy->by_stack = self->by_stack;
	memcpy(copy->keys, self->keys, sizeof copy->keys);
	memcpy(copy->text_counts, self->text_counts, sizeof copy->text_counts);
	for (u32 f = 0; fine && f < FIELDS; f++)
		fine = copy_array(&copy->values[f], self->values[f], bytes) &&
		       copy_array(&copy->texts[f], self->texts[f],
				  self->text_counts[f] * sizeof(char *));
	for (u32 k = 0; fine && k < self->key_count; k++)
		fine = copy_array(&copy->key_values[k], self->key_values[k], bytes);
	fine = fine &&
	       copy_array(&copy->frames, self->frames, self->count * sizeof *self->frames) &&
	       copy_array(&copy->frame_traces, self->frame_traces, self->count);
	for (u64 a = 0; fine && a < self->aggs.count; a++) {
		struct agg_column column = {.agg = self->aggs.data[a].agg};

		fine = copy_array(&column.numbers, self->aggs.data[a].numbers, bytes) &&
		       vec_push(&copy->aggs, column);
		if (!fine)
			free(column.numbers);
	}
	if (fine)
		return copy;
	entries_free(copy);
	return NULL;
}

u64 entries_bytes(const struct entries *self)
{
	u64 bytes = sizeof *self + self->count * 8 * (self->key_count + self->aggs.count + 1);

	for (u32 f = 0; f < FIELDS; f++)
		bytes += (self->values[f] ? self->count * 8 : 0) + self->text_counts[f] * 8;
	return bytes;
}

/* ---- join of entries ---- */
