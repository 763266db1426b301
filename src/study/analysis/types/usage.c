/* SPDX-License-Identifier: MIT
 * Bytes of chunks that were accessed, as bytes of the objects in them.
 * Host. */
#include "study/analysis/types/usage.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/bytemap.h"

/* A chunk is one object, an array of them, or an array behind a cookie: bytes of the chunk before
 * the first object; UINT64_MAX = it is nothing of that. */
static u64 bytes_before(u64 chunk, u64 size)
{
	u64 before = chunk % size;

	return chunk < size || size > HW_MAP_BYTES || (before && before != 8) ? UINT64_MAX : before;
}

/* The bytes of objects that a chunk's map has. */
static void fold_map(u64 *words, const u64 *map, u64 chunk, u64 size)
{
	u64 before = bytes_before(chunk, size);

	for (u64 at = before; (at = bytemap_next(map, at, chunk, true)) < chunk; at++) {
		u64 byte = (at - before) % size;

		bytemap_set(words, byte, byte + 1);
	}
}

/* Bytes of the member that have a bit; of objects above HW_MAP_BYTES none has. */
static u64 member_bytes(const u64 *words, const struct type_member *member)
{
	u64 from = member->offset < HW_MAP_BYTES ? member->offset : HW_MAP_BYTES;
	u64 end = member->size < HW_MAP_BYTES - from ? from + member->size : HW_MAP_BYTES;

	return bytemap_count(words, end) - bytemap_count(words, from);
}

static void add_pattern(struct type_usage *self, const struct type_layout *layout,
			const struct access_pattern *pattern)
{
	if (!pattern->chunks || bytes_before(pattern->size, layout->size) == UINT64_MAX)
		return;
	self->sided &= pattern->sided;
	*(pattern->mixed ? &self->mixed : &self->measured) += pattern->chunks;
	for (u32 side = 0; side < HW_SIDES; side++) {
		u64 words[HW_MAP_WORDS] = {0};

		fold_map(words, pattern->sides[side], pattern->size, layout->size);
		for (u32 i = 0; i < HW_MAP_WORDS; i++)
			self->words[side][i] |= words[i];
		for (u64 i = 0; i < layout->members.count && !pattern->mixed; i++)
			if (member_bytes(words, &layout->members.data[i]))
				self->members.data[i].chunks[side] += pattern->chunks;
	}
}

static void count_bytes(struct type_usage *self, const struct type_layout *layout)
{
	u64 both[HW_MAP_WORDS];

	for (u32 i = 0; i < HW_MAP_WORDS; i++)
		both[i] = self->words[HW_SIDE_READ][i] | self->words[HW_SIDE_WRITTEN][i];
	for (u64 i = 0; i < layout->members.count; i++) {
		struct member_usage *usage = &self->members.data[i];

		usage->accessed_bytes = member_bytes(both, &layout->members.data[i]);
		for (u32 side = 0; side < HW_SIDES; side++)
			usage->bytes[side] =
				member_bytes(self->words[side], &layout->members.data[i]);
	}
}

static void add_points(struct type_usage *self, const struct model *model, const bool *is_of_type)
{
	for (u32 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];

		if (!is_of_type[i])
			continue;
		self->chunks += model_count(model, point->allocations);
		self->lower_bound += point->access.lower_bound_chunks;
		self->read_bytes += point->access.read_bytes;
		self->written_bytes += point->access.written_bytes;
	}
}

int type_usage_find(struct type_usage *self, struct type_cascade *types,
		    const struct type_layout *layout, struct err *err)
{
	const struct model *model = types->query.source->model;
	struct type_answer *points = calloc(model->points.count + 1, sizeof *points);
	bool *is_of_type = calloc(model->points.count + 1, sizeof *is_of_type);

	if (!points || !is_of_type || !vec_extend(&self->members, layout->members.count)) {
		free(points);
		free(is_of_type);
		return err_memory_for(err, "types");
	}
	type_of_points(types, points);
	for (u64 i = 0; i < model->points.count; i++)
		is_of_type[i] = points[i].name && strcmp(points[i].name, layout->name) == 0;
	add_points(self, model, is_of_type);
	self->sided = true;
	for (u64 i = 0; i < model->patterns.rows.count; i++)
		if (is_of_type[model->patterns.rows.data[i].point])
			add_pattern(self, layout, &model->patterns.rows.data[i]);
	self->sided &= self->measured + self->mixed > 0;
	count_bytes(self, layout);
	free(points);
	free(is_of_type);
	return 0;
}

void type_usage_release(struct type_usage *self) { vec_release(&self->members); }
