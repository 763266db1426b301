/* SPDX-License-Identifier: MIT
 * What a query costs at most, before it is run.
 * Host. */
#include "study/query/query.h"

static const u8 stage_passes[STAGES] = {
	[STAGE_WHERE] = 1, [STAGE_COLOR] = 1, [STAGE_JOIN] = 1,
	[STAGE_UNIFY] = 1, [STAGE_SORT] = 1,  [STAGE_AGG] = 1,
};

/* Names need not be looked into: each let is counted once. */
static u32 pipe_passes(const struct pipe *self)
{
	const struct source *source = &self->source;
	u32 passes = source->kind == SOURCE_AT;

	if (source->kind == SOURCE_UNION || source->kind == SOURCE_DIFF ||
	    source->kind == SOURCE_COMMON)
		passes = 1 + pipe_passes(source->inputs[0]) + pipe_passes(source->inputs[1]);
	for (u32 i = 0; i < self->stage_count; i++)
		passes += stage_passes[self->stages[i].kind];
	return passes;
}

u32 query_passes(const struct query *self)
{
	u32 passes = pipe_passes(&self->pipe);

	for (u64 i = 0; i < self->lets.count; i++)
		if (self->lets.data[i].kind == LET_PIPE)
			passes += pipe_passes(&self->lets.data[i].pipe);
	return passes;
}
