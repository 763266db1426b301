/* SPDX-License-Identifier: MIT
 * Rows of totals per context; see aggregates.h. Runs on the drain thread. */
#include "live/drain/aggregates.h"

void aggregates_release(struct aggregates *self)
{
	vec_release(&self->row_of_context);
	vec_release(&self->rows);
}

/* The row of a context's totals; NULL without memory. */
static struct stream_aggregate *row_of(struct aggregates *self, u32 context)
{
	if (!vec_extend(&self->row_of_context, (u64)context + 1))
		return NULL;
	if (!self->row_of_context.data[context]) {
		struct stream_aggregate row = {.context = context};

		if (!vec_push(&self->rows, row))
			return NULL;
		self->row_of_context.data[context] = (u32)self->rows.count;
	}
	return &self->rows.data[self->row_of_context.data[context] - 1];
}

bool aggregates_birth(struct aggregates *self, u32 context, u64 size)
{
	struct stream_aggregate *row = row_of(self, context);

	if (!row)
		return false;
	row->allocations++;
	row->bytes += size;
	return true;
}

bool aggregates_death(struct aggregates *self, u32 context, u64 size)
{
	struct stream_aggregate *row = row_of(self, context);

	if (!row)
		return false;
	row->frees++;
	row->freed_bytes += size;
	return true;
}
