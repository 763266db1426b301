/* SPDX-License-Identifier: MIT
 * Writes the events of a model in the order of their times, with sums.
 * Host. */
#include "study/model/order.h"

#include <stdlib.h>
#include <string.h>

#include "study/model/moments.h"

enum {
	SNAPSHOT_EVENTS = 1 << 16, /* at least, from one snapshot to the next */
};
#define SNAPSHOT_BYTES (32ull << 20) /* of all of them */

struct level {
	struct order_block block; /* that is being filled */
	VEC(struct order_block) blocks;
};

struct ordering {
	struct model *model;
	struct index_writer *out;
	VEC(u32) codes; /* of one part */
	u64 events, done;
	u64 every;
	struct point_live all;
	struct level levels[ORDER_LEVELS];
	struct point_live *points;
	i64 *peaks;
	VEC(struct point_live) snapshots;
};

/* ---- sums ---- */

static bool level_close(struct level *self) { return vec_push(&self->blocks, self->block); }

static void level_add(struct level *self, const struct point_live *all)
{
	struct order_block *block = &self->block;

	block->low_bytes = all->bytes < block->low_bytes ? all->bytes : block->low_bytes;
	block->high_bytes = all->bytes > block->high_bytes ? all->bytes : block->high_bytes;
	block->low_units = all->units < block->low_units ? all->units : block->low_units;
	block->high_units = all->units > block->high_units ? all->units : block->high_units;
}

/* Whatever begins with the next event. */
static bool begin_blocks(struct ordering *self, u64 ticks)
{
	u64 span = ORDER_BLOCK;

	for (u32 i = 0; i < ORDER_LEVELS && self->done % span == 0; i++, span *= ORDER_STEP) {
		if (self->done && !level_close(&self->levels[i]))
			return false;
		self->levels[i].block =
			(struct order_block){ticks,     self->all.bytes, self->all.units, INT64_MAX,
					     INT64_MIN, INT64_MAX,       INT64_MIN};
	}
	if (!self->every || !self->done || self->done % self->every)
		return true;
	if (!vec_reserve(&self->snapshots, self->model->points.count))
		return false;
	memcpy(&self->snapshots.data[self->snapshots.count], self->points,
	       self->model->points.count * sizeof *self->points);
	self->snapshots.count += self->model->points.count;
	return true;
}

static bool add(struct ordering *self, const struct moment *moment)
{
	struct point_live *point = &self->points[moment->point];
	i64 way = moment->code & 1 ? -1 : 1;
	u64 units, bytes;

	if (self->done % ORDER_BLOCK == 0 && !begin_blocks(self, moment->ticks))
		return false;
	model_weigh(self->model, moment->size, &units, &bytes);
	point->bytes += way * (i64)bytes;
	point->units += way * (i64)units;
	if (point->bytes > self->peaks[moment->point])
		self->peaks[moment->point] = point->bytes;
	self->all.bytes += way * (i64)bytes;
	self->all.units += way * (i64)units;
	for (u32 i = 0; i < ORDER_LEVELS; i++)
		level_add(&self->levels[i], &self->all);
	self->done++;
	return true;
}

/* One part of the run: sums it up, and writes its codes. A brief chunk is never live, and has no
 * events. */
static int write_part(void *data, const struct moment *moments, u64 count, struct err *err)
{
	struct ordering *self = data;

	vec_clear(&self->codes);
	for (u64 i = 0; i < count; i++)
		if (!moments[i].brief &&
		    (!add(self, &moments[i]) || !vec_push(&self->codes, (u32)moments[i].code)))
			return err_memory_for(err, "the order of events");
	return stored_add(self->out, self->codes.data, self->codes.count * sizeof(u32), err);
}

static int write_sums(struct ordering *self, struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < ORDER_LEVELS && status == 0; i++) {
		struct level *level = &self->levels[i];

		if (self->done && !level_close(level))
			return err_memory_for(err, "the order of events");
		status = stored_put(self->out, STORED_BLOCKS + i,
				    STORED_ROWS(level->blocks.data, level->blocks.count, 0), err);
	}
	if (status == 0 && self->snapshots.count)
		status = stored_put(self->out, STORED_SNAPSHOTS,
				    STORED_ROWS(self->snapshots.data, self->snapshots.count,
						self->every),
				    err);
	if (status == 0)
		status = stored_put(self->out, STORED_PEAKS,
				    STORED_ROWS(self->peaks, self->model->points.count, 0), err);
	return status;
}

/* From one snapshot to the next: a multiple of a block, so that both begin together. */
static u64 snapshot_distance(const struct ordering *self)
{
	u64 rows = SNAPSHOT_BYTES / (self->model->points.count * sizeof(struct point_live) + 1);
	u64 every = rows ? self->events / rows + 1 : 0;

	if (every && every < SNAPSHOT_EVENTS)
		every = SNAPSHOT_EVENTS;
	return (every + ORDER_BLOCK - 1) / ORDER_BLOCK * ORDER_BLOCK;
}

int order_write(struct model *model, struct index_writer *out, struct err *err)
{
	struct ordering self = {.model = model, .out = out, .events = moments_count(model)};
	int status = 0;

	if (!self.events || model->chunks.count > INT32_MAX)
		return 0; /* a code has no room for such numbers */
	self.every = snapshot_distance(&self);
	self.points = calloc(model->points.count + 1, sizeof *self.points);
	self.peaks = calloc(model->points.count + 1, sizeof *self.peaks);
	if (!self.points || !self.peaks)
		status = err_memory_for(err, "the order of events");
	if (status == 0)
		status = stored_begin(out, STORED_ORDER, 0, err);
	if (status == 0)
		status = moments_each(model, write_part, &self, err);
	if (status == 0)
		status = write_sums(&self, err);
	for (u32 i = 0; i < ORDER_LEVELS; i++)
		vec_release(&self.levels[i].blocks);
	vec_release(&self.codes);
	vec_release(&self.snapshots);
	free(self.points);
	free(self.peaks);
	return status;
}
