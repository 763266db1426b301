/* SPDX-License-Identifier: MIT
 * Joined entries: their life and their copies.
 * Host. */
#include "study/query/entries.h"

#include <string.h>

struct entries *entries_new(void)
{
	struct entries *self = calloc(1, sizeof *self);

	if (self && vec_extend(&self->columns, ENTRY_AGGS))
		return self;
	free(self);
	return NULL;
}

void entries_free(struct entries *self)
{
	if (!self)
		return;
	for (u32 i = 0; i < QUERY_TRACES; i++)
		free(self->groups[i]);
	for (u32 i = 0; i < FIELDS; i++)
		free((void *)self->texts[i]);
	for (u64 i = 0; i < self->columns.count; i++)
		free(self->columns.data[i]);
	vec_release(&self->columns);
	vec_release(&self->aggs);
	free(self->entry_of);
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
	struct entries *copy = entries_new();
	bool fine = copy && vec_extend(&copy->columns, self->columns.count) &&
		    vec_extend(&copy->aggs, self->aggs.count);

	for (u64 i = 0; fine && i < self->aggs.count; i++)
		copy->aggs.data[i] = self->aggs.data[i];
	for (u64 i = 0; fine && i < self->columns.count; i++)
		fine = copy_array(&copy->columns.data[i], self->columns.data[i],
				  self->count * sizeof(double));
	for (u32 f = 0; fine && f < FIELDS; f++)
		fine = copy_array(&copy->texts[f], self->texts[f],
				  self->text_counts[f] * sizeof(char *));
	if (!fine) {
		entries_free(copy);
		return NULL;
	}
	copy->count = self->count;
	copy->key_count = self->key_count;
	copy->by_stack = self->by_stack;
	memcpy(copy->keys, self->keys, sizeof copy->keys);
	memcpy(copy->text_counts, self->text_counts, sizeof copy->text_counts);
	return copy;
}

u64 entries_bytes(const struct entries *self)
{
	u64 bytes = sizeof *self;

	for (u64 i = 0; i < self->columns.count; i++)
		bytes += self->columns.data[i] ? self->count * sizeof(double) : 0;
	for (u32 f = 0; f < FIELDS; f++)
		bytes += self->text_counts[f] * sizeof(char *);
	return bytes;
}
