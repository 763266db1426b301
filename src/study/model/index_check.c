/* SPDX-License-Identifier: MIT
 * Whether a model that was read from an index holds together.
 *
 * The pages of columns are checked here, too, all of them, when the index is opened. Checking a
 * page when it is first used would need a test in front of each of the many loops over chunks;
 * checking when the index is written says nothing about who wrote it. It takes 19 of the 55 bytes
 * of a chunk and a few ns.
 * Host. Changes nothing. */
#include "study/model/index_io.h"

#include <string.h>

static bool contexts_sound(const struct context_table *self)
{
	bool in_order = true, sound = true;
	u32 *seen;

	for (u64 i = 0; i < self->nodes.count; i++) {
		const struct context_node *node = &self->nodes.data[i];

		if (node->parent >= self->nodes.count ||
		    (node->parent && !self->nodes.data[node->parent].told) ||
		    (node->frame != UINT32_MAX && node->frame && node->frame >= self->frames.count))
			return false;
		in_order &= node->parent < i || node->parent == 0;
	}
	if (in_order)
		return true;
	/* Parents that come later: no chain of them may lead back to where it began. */
	seen = calloc(self->nodes.count, sizeof *seen);
	for (u64 i = 1; seen && i < self->nodes.count && sound; i++) {
		u32 at = (u32)i;

		for (; at && !seen[at]; at = self->nodes.data[at].parent)
			seen[at] = (u32)i;
		sound = !at || seen[at] != i;
	}
	free(seen);
	return seen && sound;
}

static bool module_known(const struct context_table *self, u32 module)
{
	return module == NO_MODULE || modmap_module(&self->modules, module);
}

static bool frames_sound(const struct context_table *self)
{
	for (u64 i = 0; i < self->frames.count; i++) {
		const struct frame *frame = &self->frames.data[i];

		if ((frame->parent >= i && i) || (i == 0 && frame->parent) ||
		    !module_known(self, frame->module) || !module_known(self, frame->identity))
			return false;
	}
	for (u64 i = 0; i < self->identities.count; i++)
		if (self->identities.data[i] &&
		    !modmap_module(&self->modules, self->identities.data[i] - 1))
			return false;
	return true;
}

static bool points_sound(const struct model *self)
{
	for (u64 i = 0; i < self->points.count; i++) {
		const struct model_point *point = &self->points.data[i];

		if (point->frame.index >= self->contexts.frames.count ||
		    point->kind >= HW_KIND_COUNT || point->map > self->maps.count)
			return false;
	}
	for (u64 i = 0; i < self->maps.count; i++)
		if (self->maps.data[i].size > HW_MAP_BYTES)
			return false;
	for (u64 i = 0; i < self->patterns.rows.count; i++)
		if (self->patterns.rows.data[i].size > HW_MAP_BYTES ||
		    self->patterns.rows.data[i].point >= self->points.count)
			return false;
	for (u64 i = 0; i < self->context_points.count; i++)
		if (self->context_points.data[i] > self->points.count)
			return false;
	for (u64 i = 0; i < self->frame_points.count; i++)
		if (self->frame_points.data[i] > self->points.count)
			return false;
	return self->points.count || !self->chunks.count;
}

static bool marks_sound(const struct model *self)
{
	for (u64 i = 0; i < self->snapshots.count; i++) {
		const struct model_snapshot *snapshot = &self->snapshots.data[i];

		if (snapshot->mark >= self->marks.count ||
		    snapshot->first > self->snapshot_points.count ||
		    snapshot->count > self->snapshot_points.count - snapshot->first)
			return false;
	}
	for (u64 i = 0; i < self->snapshot_points.count; i++)
		if (self->snapshot_points.data[i].point.index >= self->points.count)
			return false;
	return true;
}

static bool cached_sound(const struct model *self, const struct model_memory *one)
{
	if (one->cached_first > self->cached.count ||
	    one->cached_count > self->cached.count - one->cached_first)
		return false;
	for (u64 k = one->cached_first; k < one->cached_first + one->cached_count; k++) {
		const struct stream_cached *row = &self->cached.data[k];

		if (!stream_cached_fits(row, k > one->cached_first ? row[-1].address + row[-1].bytes
								   : 0))
			return false;
	}
	return true;
}

static bool memory_sound(const struct model *self)
{
	for (u64 i = 0; i < self->memory.count; i++) {
		const struct model_memory *one = &self->memory.data[i];

		if (one->moment > MEMORY_END || one->first > self->residents.count ||
		    one->count > self->residents.count - one->first || !cached_sound(self, one))
			return false;
		for (u64 k = one->first; k < one->first + one->count; k++) {
			const struct stream_resident *row = &self->residents.data[k];

			if (!stream_resident_fits(row, k > one->first
							       ? row[-1].start + row[-1].bytes
							       : 0))
				return false;
		}
	}
	return true;
}

static bool misfits_sound(const struct model *self)
{
	for (u64 i = 0; i < self->misfits.unknown.count; i++) {
		const struct unknown_free *one = &self->misfits.unknown.data[i];

		if (one->kind >= HW_KIND_COUNT || one->thread >= self->threads.count)
			return false;
	}
	for (u64 i = 0; i < self->misfits.mismatches.count; i++) {
		const struct mismatch *one = &self->misfits.mismatches.data[i];

		if (one->alloc_kind >= HW_KIND_COUNT || one->free_kind >= HW_KIND_COUNT)
			return false;
	}
	return true;
}

static bool types_sound(const struct model *self)
{
	const struct type_table *types = &self->type_table;

	for (u64 i = 0; i < self->told.count; i++)
		if (self->told.data[i].point >= self->points.count)
			return false;
	for (u64 i = 0; i < types->identities.count; i++)
		if (types->identities.data[i].type > self->types.count)
			return false;
	for (u64 i = 1; i < types->kinds.count; i++)
		if (types->kinds.data[i].identity >= types->identities.count ||
		    (types->kinds.data[i].source != TYPE_DECLARED &&
		     types->kinds.data[i].source != TYPE_VTABLE))
			return false;
	return true;
}

static bool times_sound(const struct model *self)
{
	const struct timeline *timeline = &self->timeline;

	for (u64 i = 1; i < self->clock.pairs.count; i++) {
		const struct stream_clock *pair = &self->clock.pairs.data[i];

		if (pair->ticks <= pair[-1].ticks || pair->ns <= pair[-1].ns)
			return false;
	}
	return self->clock.pairs.count && timeline->current < TIMELINE_BUCKETS &&
	       timeline->width_ticks && !(timeline->width_ticks & (timeline->width_ticks - 1));
}

static u32 highest(const u32 *column)
{
	u32 most = 0;

	for (u32 k = 0; k < CHUNK_PAGE; k++)
		most = column[k] > most ? column[k] : most;
	return most;
}

static u8 highest_byte(const u8 *column)
{
	u8 most = 0;

	for (u32 k = 0; k < CHUNK_PAGE; k++)
		most = column[k] > most ? column[k] : most;
	return most;
}

static bool page_sound(const struct model *self, const struct chunk_page *page)
{
	u64 contexts = self->contexts.nodes.count ? self->contexts.nodes.count : 1;

	return highest(page->alloc_context) < contexts && highest(page->free_context) < contexts &&
	       highest(page->alloc_thread) < self->threads.count &&
	       highest(page->free_thread) < self->threads.count &&
	       highest_byte(page->kind) < HW_KIND_COUNT && highest_byte(page->end) <= CHUNK_EXEC;
}

static bool columns_sound(const struct model *self)
{
	const struct chunk_table *chunks = &self->chunks;

	if (chunks->count > chunks->pages.count * CHUNK_PAGE ||
	    chunks->zones.count != chunks->pages.count)
		return false;
	for (u64 i = 0; i < chunks->pages.count; i++) {
		if (chunks->pages.data[i] && !page_sound(self, chunks->pages.data[i]))
			return false;
		chunk_table_pass(chunks, i * CHUNK_PAGE);
	}
	return true;
}

bool index_is_sound(const struct model *self)
{
	/* what on_image made of it, see there */
	bool sampled = self->image.sample_bytes != 0;

	return self->has_image && self->finished && self->count_shift == (sampled ? 10 : 0) &&
	       self->scan.state <= SCAN_FAILED && contexts_sound(&self->contexts) &&
	       frames_sound(&self->contexts) && points_sound(self) && marks_sound(self) &&
	       memory_sound(self) && misfits_sound(self) && types_sound(self) &&
	       times_sound(self) && columns_sound(self);
}
