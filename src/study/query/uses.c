/* SPDX-License-Identifier: MIT
 * What a query needs: passes over the chunks, and fields.
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

/* ---- fields ---- */

static void use_expr(const struct expr *expr, bool *used)
{
	if (expr->kind == EXPR_FIELD)
		used[expr->field] = true;
	for (u32 i = 0; i < expr->count; i++)
		use_expr(expr->args[i], used);
}

static void use_pipe(const struct pipe *pipe, bool *used)
{
	for (u32 i = 0; i < 2; i++)
		if (pipe->source.inputs[i])
			use_pipe(pipe->source.inputs[i], used);
	for (u32 s = 0; s < pipe->stage_count; s++) {
		const struct stage *stage = &pipe->stages[s];

		if (stage->expr)
			use_expr(stage->expr, used);
		for (u32 i = 0; i < stage->key_count; i++)
			if (!stage->keys[i].is_user)
				used[stage->keys[i].field] = true;
		if (stage->kind == STAGE_COLOR)
			used[F_COLOR] = true;
	}
}

void query_used_fields(const struct query *query, bool used[FIELDS])
{
	use_pipe(&query->pipe, used);
	for (u64 i = 0; i < query->lets.count; i++) {
		if (query->lets.data[i].kind == LET_PIPE)
			use_pipe(&query->lets.data[i].pipe, used);
		else
			use_expr(query->lets.data[i].expr, used);
	}
}
