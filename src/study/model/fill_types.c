/* SPDX-License-Identifier: MIT
 * Types of chunks in the model, and the dictionary of their names.
 * Host. Types of a chunk that was never told are counted and skipped. */
#include <string.h>

#include "study/model/fill.h"
#include "host/trace/block.h"
#include "host/trace/typenames.h"

/* The name's number in the dictionary, + 1; 0 without memory. */
static u32 type_number(struct model *self, const char *name)
{
	u64 key = checksum(name, strlen(name)), *number;
	const char *kept;

	for (;; key++) {
		number = map_at(&self->types_by_name, key);
		if (!number)
			return 0;
		if (!*number)
			break;
		if (strcmp(self->types.data[*number - 1], name) == 0)
			return (u32)*number;
	}
	kept = arena_copy(&self->arena, name);
	if (!kept || self->types.count >= UINT32_MAX - 1 || !vec_push(&self->types, kept))
		return 0;
	*number = self->types.count;
	return (u32)*number;
}

int model_name_type(struct model *self, u64 identity, const char *name, struct err *err)
{
	struct type_identity *known;

	if (!map_find(&self->type_table.by_identity, identity) || !name[0])
		return 0; /* no chunk has it */
	known = type_table_identity(&self->type_table, identity);
	known->type = type_number(self, name);
	return known->type ? 0 : err_memory_for(err, "the model");
}

int model_name_by_number(struct model *self, u64 identity, struct err *err)
{
	const char *name = identity < self->names.count ? self->names.data[identity] : NULL;

	return name ? model_name_type(self, identity, name, err) : 0;
}

int model_fill_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	struct model *self = data;

	if (self->store)
		column_store_trim(self->store);
	for (u64 i = 0; i < count; i++) {
		struct stream_type row = rows[i];
		u64 known = self->type_table.identities.count;

		row.chunk = model_row(self, row.chunk);
		if (row.chunk >= self->chunks.count ||
		    (row.source != TYPE_DECLARED && row.source != TYPE_VTABLE) ||
		    chunk_end(&self->chunks, row.chunk) == CHUNK_ABSENT) {
			model_lacks_chunks(self); /* told too late, maybe */
			self->strange_types++;
			continue;
		}
		if (!type_table_put(&self->type_table, &row))
			return err_memory_for(err, "the model");
		if (self->type_table.identities.count > known &&
		    model_name_by_number(self, row.identity, err) < 0)
			return ERR_MEMORY;
	}
	return 0;
}

int model_load_type_names(struct model *self, const char *path, struct err *err)
{
	struct type_names names;
	int status;

	if (!self->type_table.identities.count)
		return 0;
	status = trace_read_type_names(path, &names, err);
	if (status < 0)
		return status;
	for (u64 i = names.rows.count; i-- > 0 && status == 0;) { /* the last one is right */
		const struct type_name *row = &names.rows.data[i];
		const u64 *known = map_find(&self->type_table.by_identity, row->identity);

		if (row->image == self->image.number && known &&
		    !self->type_table.identities.data[*known - 1].type)
			status = model_name_type(self, row->identity, row->name, err);
	}
	type_names_release(&names);
	return status;
}

bool model_chunk_type(const struct model *self, u64 chunk, struct chunk_type *type)
{
	return model_cell_type(self, type_table_cell(&self->type_table, chunk), type);
}

bool model_cell_type(const struct model *self, const struct type_cell *cell,
		     struct chunk_type *type)
{
	return type_table_get(&self->type_table, cell, TYPE_DECLARED, type) ||
	       type_table_get(&self->type_table, cell, TYPE_VTABLE, type);
}
