/* SPDX-License-Identifier: MIT
 * Follows a model; see following.h. Host. */
#include "study/open/following.h"

/* So many need half a gigabyte, which others may want: the trace is read afterwards. */
enum { LIVE_MAX = 1 << 23 };

static const struct thresholds limits = THRESHOLDS_DEFAULT;

static void found_release(struct following *self)
{
	behaviour_forget(self->pass);
	behaviour_table_release(&self->behaviour);
	growth_samples_free(self->growth);
	self->pass = NULL;
	self->growth = NULL;
}

/* What was live when /proc was read. Rows come before the first event that is later, or when a
 * higher one may still come some time after it: then it was at least this much. */
static u64 live_at(struct model *model, u64 ticks)
{
	const struct timeline *timeline = &model->timeline;
	u64 at = (ticks - timeline->start_ticks) / timeline->width_ticks;

	if (ticks >= model->last_ticks)
		return model->totals.live_bytes;
	model->live_late = true;
	return ticks > timeline->start_ticks && at < timeline->current
		       ? timeline->bucket[at].min_bytes
		       : 0;
}

static bool settle_live(struct model *model, u64 ticks)
{
	bool ok = true;

	while (ok && model->usage_live.count < model->usage.count) {
		u64 row = model->usage.data[model->usage_live.count].ticks;

		if (row >= ticks)
			break;
		ok = vec_push(&model->usage_live, live_at(model, row));
	}
	while (ok && model->memory_live.count < model->memory.count) {
		u64 row = model->memory.data[model->memory_live.count].ticks;

		if (row >= ticks)
			break;
		ok = vec_push(&model->memory_live, live_at(model, row));
	}
	return ok;
}

/* When the next row, or sample, is due. */
static u64 next_ticks(const struct following *self)
{
	const struct model *model = self->model;
	u64 next = growth_samples_next(self->growth), usage = model->usage_live.count,
	    memory = model->memory_live.count;

	if (usage < model->usage.count && model->usage.data[usage].ticks < next)
		next = model->usage.data[usage].ticks;
	if (memory < model->memory.count && model->memory.data[memory].ticks < next)
		next = model->memory.data[memory].ticks;
	return next;
}

/* A model that forgets nothing can do without. */
static int give_up(struct following *self, struct err *err)
{
	self->failed = true;
	if (self->model->forgets)
		return err->code < 0 ? err->code : err_memory_for(err, "the findings");
	found_release(self);
	self->model->follower = NULL;
	*err = (struct err){0};
	return 0;
}

static int on_time(void *data, u64 ticks, struct err *err)
{
	struct following *self = data;
	struct model *model = self->model;
	u64 last = ticks == UINT64_MAX ? model->last_ticks + 1 : ticks;

	if (!settle_live(model, ticks) || !growth_samples_take(self->growth, last))
		return give_up(self, err);
	model->wake_ticks = next_ticks(self);
	return 0;
}

static int on_born(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct following *self = data;
	bool room = !self->model->forgets || number < self->live_max;

	return room && behaviour_born(self->pass, page, k, number, err) == 0 ? 0
									     : give_up(self, err);
}

static int on_ended(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct following *self = data;

	return behaviour_ended(self->pass, page, k, number, err) == 0 ? 0 : give_up(self, err);
}

/* Each image is found out anew. Accesses are told by chunk, and maybe after its end. */
static int on_image(void *data, struct err *err)
{
	struct following *self = data;

	found_release(self);
	self->failed = self->model->has_access;
	if (!self->failed) {
		self->pass = behaviour_follow(self->model, &limits, &self->behaviour, err);
		self->growth = growth_samples_new(self->model);
	}
	return self->pass && self->growth ? 0 : give_up(self, err);
}

void following_begin(struct following *self, struct model *model, bool forgets)
{
	*self = (struct following){.model = model,
				   .live_max = LIVE_MAX,
				   .follower = {self, on_image, on_time, on_born, on_ended}};
	model_follow(model, &self->follower, forgets);
}

bool following_is_done(const struct following *self)
{
	const struct model *model = self->model;

	return !self->failed && self->pass && model->finished && !model->aggregated &&
	       !model->has_access;
}

bool following_take(struct following *self, struct behaviour_table *behaviour,
		    struct growth_samples **growth)
{
	if (!following_is_done(self))
		return false;
	behaviour_followed(self->pass);
	growth_samples_finish(self->growth);
	*behaviour = self->behaviour;
	*growth = self->growth;
	self->pass = NULL;
	self->growth = NULL;
	self->behaviour = (struct behaviour_table){0};
	return true;
}

void following_release(struct following *self)
{
	found_release(self);
	self->model = NULL;
}
