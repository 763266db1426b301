/* SPDX-License-Identifier: MIT
 * States and the cache of them.
 * Host. */
#include "study/query/state.h"

#include <string.h>

#include "study/query/entries.h"

void state_release(struct state *self)
{
	for (u32 i = 0; i < QUERY_TRACES; i++) {
		selection_release(&self->sel[i]);
		free(self->colors[i]);
	}
	vec_release(&self->order);
	entries_free(self->entries);
	*self = (struct state){0};
}

bool state_copy(struct state *self, const struct state *from)
{
	*self = *from;
	memset(self->sel, 0, sizeof self->sel);
	memset(self->colors, 0, sizeof self->colors);
	memset(&self->order, 0, sizeof self->order);
	self->entries = NULL;
	for (u32 i = 0; i < QUERY_TRACES; i++) {
		if (!selection_copy(&self->sel[i], &from->sel[i]))
			return false;
		if (!from->colors[i])
			continue;
		self->colors[i] = malloc(selection_words(from->sel[i].count) * 64 + 1);
		if (!self->colors[i])
			return false;
		memcpy(self->colors[i], from->colors[i], selection_words(from->sel[i].count) * 64);
	}
	if (from->entries) {
		self->entries = entries_copy(from->entries);
		if (!self->entries)
			return false;
	}
	if (!from->order.count)
		return true;
	if (!vec_reserve(&self->order, from->order.count))
		return false;
	memcpy(self->order.data, from->order.data, from->order.count * sizeof *from->order.data);
	self->order.count = from->order.count;
	return true;
}

u64 state_bytes(const struct state *self)
{
	u64 bytes = sizeof *self + self->order.count * sizeof *self->order.data;

	if (self->entries)
		bytes += entries_bytes(self->entries);
	for (u32 i = 0; i < QUERY_TRACES; i++) {
		u64 words = self->sel[i].words ? selection_words(self->sel[i].count) : 0;

		bytes += words * 8 + (self->colors[i] ? words * 64 : 0);
	}
	return bytes;
}

u32 state_traces(const struct state *self)
{
	u32 count = 0;

	for (u32 t = 0; t < QUERY_TRACES; t++)
		count += self->sel[t].words != NULL;
	return count;
}

bool state_need_colors(struct state *self, u32 trace)
{
	if (!self->colors[trace])
		self->colors[trace] = calloc(selection_words(self->sel[trace].count) * 64 + 1, 1);
	return self->colors[trace] != NULL;
}

/* ---- cache ---- */

static struct cached *find(struct cache *self, const char *key)
{
	u64 hash = hash_text(HASH_START, key);

	for (u64 i = 0; i < self->rows.count; i++)
		if (self->rows.data[i].hash == hash && strcmp(self->rows.data[i].key, key) == 0)
			return &self->rows.data[i];
	return NULL;
}

const struct state *cache_find(struct cache *self, const char *key)
{
	struct cached *row = find(self, key);

	if (!row)
		return NULL;
	row->used = ++self->clock;
	return &row->state;
}

static void drop(struct cache *self, u64 index)
{
	struct cached *row = &self->rows.data[index];

	self->bytes -= row->bytes;
	free(row->key);
	state_release(&row->state);
	*row = self->rows.data[--self->rows.count];
}

static void make_room(struct cache *self, u64 bytes)
{
	while (self->rows.count && self->bytes + bytes > self->limit) {
		u64 oldest = 0;

		for (u64 i = 1; i < self->rows.count; i++)
			if (self->rows.data[i].used < self->rows.data[oldest].used)
				oldest = i;
		drop(self, oldest);
	}
}

void cache_put(struct cache *self, const char *key, const struct state *state)
{
	struct cached row = {.hash = hash_text(HASH_START, key),
			     .bytes = state_bytes(state) + strlen(key)};

	if (row.bytes > self->limit || find(self, key))
		return;
	make_room(self, row.bytes);
	row.key = strdup(key);
	row.used = ++self->clock;
	if (!row.key || !state_copy(&row.state, state) || !vec_push(&self->rows, row)) {
		free(row.key);
		state_release(&row.state);
		return;
	}
	self->bytes += row.bytes;
}

void cache_release(struct cache *self)
{
	while (self->rows.count)
		drop(self, self->rows.count - 1);
	vec_release(&self->rows);
}
