/* SPDX-License-Identifier: MIT
 * Pages of types.
 * Host. */
#include "study/model/types.h"

#include "host/base/keyed.h"

struct type_identity *type_table_identity(struct type_table *self, u64 identity)
{
	if (self->identities.count >= UINT32_MAX)
		return NULL;
	return vec_at_key(&self->identities, &self->by_identity, identity,
			  (struct type_identity){.identity = identity});
}

static bool same_kind(const struct type_kind *a, const struct type_kind *b)
{
	return a->count == b->count && a->identity == b->identity && a->offset == b->offset &&
	       a->source == b->source;
}

/* The number of the kind; 0 without memory. */
static u32 kind_number(struct type_table *self, const struct type_kind *kind)
{
	u64 key = hash_u64(hash_u64(hash_u64(kind->identity) ^ kind->count) ^
			   ((u64)kind->offset << 8 | kind->source));
	u64 *number;

	if (!self->kinds.count && !vec_push(&self->kinds, (struct type_kind){0}))
		return 0;
	for (;; key++) { /* two kinds of one hash: the next key is as good */
		number = map_at(&self->by_kind, key);
		if (!number)
			return 0;
		if (!*number)
			break;
		if (same_kind(&self->kinds.data[*number], kind))
			return (u32)*number;
	}
	if (self->kinds.count >= UINT32_MAX || !vec_push(&self->kinds, *kind))
		return 0;
	*number = self->kinds.count - 1;
	return (u32)*number;
}

bool type_table_put(struct type_table *self, const struct stream_type *row)
{
	struct type_cell *cell = cell_make(&self->cells, row->chunk, sizeof *cell);
	struct type_identity *identity = type_table_identity(self, row->identity);
	struct type_kind kind = {.count = row->count, .offset = row->offset, .source = row->source};
	u32 which = row->source - TYPE_DECLARED, number;

	if (!cell || !identity)
		return false;
	kind.identity = (u32)(identity - self->identities.data);
	number = kind_number(self, &kind);
	if (!number)
		return false;
	self->chunks[which] += !cell->kinds[which];
	cell->kinds[which] = number;
	return true;
}

struct type_cell *type_table_cell(const struct type_table *self, u64 chunk)
{
	return cell_find(&self->cells, chunk, sizeof(struct type_cell));
}

bool type_table_get(const struct type_table *self, const struct type_cell *cell, u8 source,
		    struct chunk_type *type)
{
	const struct type_kind *kind;
	u32 number = cell ? cell->kinds[source - TYPE_DECLARED] : 0, name;

	*type = (struct chunk_type){0};
	/* an index may say anything: see study/model/index.h */
	if (!number || number >= self->kinds.count)
		return false;
	kind = &self->kinds.data[number];
	name = self->identities.data[kind->identity].type;
	if (!name)
		return false;
	*type = (struct chunk_type){name - 1, kind->offset, kind->count,
				    self->identities.data[kind->identity].identity, kind->source};
	return true;
}

void type_table_release(struct type_table *self)
{
	cell_pages_release(&self->cells);
	vec_release(&self->kinds);
	vec_release(&self->identities);
	map_release(&self->by_identity);
	map_release(&self->by_kind);
	*self = (struct type_table){0};
}
