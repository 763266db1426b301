/* SPDX-License-Identifier: MIT
 * Groups chunks by a key.
 * Host. Reads the model, never changes it. */
#include "study/analysis/places/group.h"

#include "host/base/order.h"
#include "host/base/keyed.h"

static void row_add(struct group_row *row, const struct group_query *query,
		    const struct chunk *chunk)
{
	u64 size = chunk->page->size[chunk->at], units, bytes;

	model_weigh(chunk->model, size, &units, &bytes);
	row->chunks += units;
	row->bytes += bytes;
	if (size > row->max_size)
		row->max_size = size;
	if (chunk_is_kept(chunk)) {
		row->kept_chunks += units;
		row->kept_bytes += bytes;
	}
	if (query->value) {
		u64 value = query->value(chunk, query->self);

		row->value_sum += value;
		if (value > row->value_max)
			row->value_max = value;
	}
}

int group_chunks(const struct model *model, const struct group_query *query,
		 struct group_table *table, struct err *err)
{
	struct group_row *row = NULL;

	EACH_CHUNK (chunk, model, .kept = query->kept) {
		u64 key;

		if (query->keep && !query->keep(&chunk, query->self))
			continue;
		key = query->key(&chunk, query->self);
		/* Neighbours often share a key: ask the map only when it changes. */
		if (!row || row->key != key)
			row = vec_at_key(&table->rows, &table->by_key, key,
					 (struct group_row){.key = key});
		if (!row)
			return err_memory_for(err, "groups");
		row_add(row, query, &chunk);
	}
	return 0;
}

const struct group_row *group_find(const struct group_table *self, u64 key)
{
	const u64 *index = map_find(&self->by_key, key);

	return index && *index ? &self->rows.data[*index - 1] : NULL;
}

int group_order_key(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;

	return rising(x->key, y->key);
}

int group_order_bytes(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;

	return falling(x->bytes, y->bytes) ?: group_order_key(a, b);
}

void group_sort(struct group_table *self, int (*compare)(const void *, const void *))
{
	vec_sort(&self->rows, compare);
	map_clear(&self->by_key);
}

void group_table_release(struct group_table *self)
{
	vec_release(&self->rows);
	map_release(&self->by_key);
}

u64 group_freed_bytes(const struct chunk *chunk, const void *self)
{
	u64 units, bytes;

	(void)self;
	if (!chunk_is_freed(chunk))
		return 0;
	model_weigh(chunk->model, chunk->page->size[chunk->at], &units, &bytes);
	return bytes;
}

u64 group_by_point(const struct chunk *chunk, const void *self)
{
	(void)self;
	return chunk_point(chunk).index;
}
