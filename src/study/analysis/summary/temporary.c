/* SPDX-License-Identifier: MIT
 * Counts temporary chunks for a given slack.
 * Host. Slack 0 was counted while loading; any other takes one pass over the chunks. */
#include "study/analysis/summary/temporary.h"

static bool is_temporary(const struct chunk *chunk, const void *slack)
{
	return chunk_is_freed(chunk) && chunk->page->others[chunk->at] <= *(const u64 *)slack;
}

int temporary_count(const struct model *model, u64 slack, struct temporary_table *self,
		    struct err *err)
{
	struct group_query query = {.key = group_by_point, .keep = is_temporary, .self = &slack};
	int status;

	self->slack = slack;
	self->chunks = model->totals.temporary;
	self->bytes = model->totals.temporary_bytes;
	if (slack == 0)
		return 0;
	status = group_chunks(model, &query, &self->points, err);
	if (status < 0) {
		temporary_table_release(self);
		return status;
	}
	self->chunks = self->bytes = 0;
	for (u64 i = 0; i < self->points.rows.count; i++) {
		self->chunks += self->points.rows.data[i].chunks;
		self->bytes += self->points.rows.data[i].bytes;
	}
	return 0;
}

void temporary_of_point(const struct temporary_table *self, const struct model *model,
			struct point_id point, u64 *chunks, u64 *bytes)
{
	const struct group_row *row;

	if (self->slack == 0) {
		*chunks = model->points.data[point.index].temporary;
		*bytes = model->points.data[point.index].temporary_bytes;
		return;
	}
	row = group_find(&self->points, point.index);
	*chunks = row ? row->chunks : 0;
	*bytes = row ? row->bytes : 0;
}

void temporary_table_release(struct temporary_table *self) { group_table_release(&self->points); }
