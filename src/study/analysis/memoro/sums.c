/* SPDX-License-Identifier: MIT
 * The behaviour of points as a table at the end of a trace, but for what accesses tell.
 * Host. */
#include "study/analysis/memoro/behaviour.h"

#include <string.h>

#define F(member) SUMS_FIELD(struct behaviour, member)
#define TALLY(tally) F(tally.chunks), F(tally.bytes), F(tally.byte_ticks)

static const struct sums_field fields[] = {
	TALLY(all),
	TALLY(hits[INFERENCE_SHORT]),
	TALLY(hits[INFERENCE_TEMPORARY]),
	TALLY(hits[INFERENCE_ZERO_SIZE]),
	TALLY(hits[INFERENCE_FOREIGN_FREE]),
	TALLY(hits[INFERENCE_KEPT]),
	TALLY(hits[INFERENCE_GROWING]),
	F(group_scores),
	F(groups),
	F(short_ticks),
	F(growth_runs),
	F(replaced_bytes),
	F(growth.steps),
	F(growth.from_bytes),
	F(growth.to_bytes),
	F(growth.realloc),
	F(freed_chunks),
	F(min_size),
	F(max_size),
};

static struct sums_table table_of(u32 id)
{
	return (struct sums_table)SUMS_TABLE(id, struct behaviour, fields);
}

void behaviour_sums_put(const struct behaviour_table *self, u32 id, struct sums_out *out)
{
	struct sums_table table = table_of(id);

	sums_out_add(out, &table, self->points, self->count);
}

int behaviour_sums_take(struct behaviour_table *self, const struct sums_in *in, u32 id, u64 points)
{
	struct sums_table table = table_of(id);

	if (sums_in_count(in, &table) != points)
		return 1;
	self->limits = (struct thresholds)THRESHOLDS_DEFAULT;
	self->points = calloc(points + 1, sizeof *self->points);
	self->count = points;
	if (!self->points)
		return ERR_MEMORY;
	return !sums_in_get(in, &table, self->points);
}
