/* SPDX-License-Identifier: MIT
 * Follows a model; see following.h. Host. */
#include "study/open/following.h"

/* So many need half a gigabyte, which others may want: the trace is read afterwards. */
enum { LIVE_MAX = 1 << 23 };

static const struct thresholds limits = THRESHOLDS_DEFAULT;

static void found_release(struct following *self)
{
	if (self->pass)
		behaviour_followed(self->pass);
	behaviour_table_release(&self->behaviour);
	growth_samples_free(self->growth);
	self->pass = NULL;
	self->growth = NULL;
}

/* What was live when /proc was read: rows come before the first event that is later. */
static bool settle_live(struct model *model, u64 ticks)
{
	bool ok = true;

	while (ok && model->usage_live.count < model->usage.count &&
	       model->usage.data[model->usage_live.count].ticks < ticks)
		ok = vec_push(&model->usage_live, model->totals.live_bytes);
	while (ok && model->memory_live.count < model->memory.count &&
	       model->memory.data[model->memory_live.count].ticks < ticks)
		ok = vec_push(&model->memory_live, model->totals.live_bytes);
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

static int on_time(void *data, u64 ticks, struct err *err)
{
	struct following *self = data;
	struct model *model = self->model;
	u64 last = ticks == UINT64_MAX ? model->last_ticks + 1 : ticks;

	if (!settle_live(model, ticks) || !growth_samples_take(self->growth, last)) {
		self->failed = true;
		return err_memory_for(err, "the findings");
	}
	model->wake_ticks = next_ticks(self);
	return 0;
}

static int on_born(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct following *self = data;

	if (self->model->forgets && number >= LIVE_MAX)
		return err_set(err, ERR_MEMORY, "too many blocks live at once");
	return behaviour_born(self->pass, page, k, number, err);
}

static int on_ended(void *data, const struct chunk_page *page, u32 k, u64 number, struct err *err)
{
	struct following *self = data;
	int status = behaviour_ended(self->pass, page, k, number, err);

	self->failed |= status < 0;
	return status;
}

/* Each image is found out anew. Accesses are told by chunk, and maybe after its end. */
static int on_image(void *data, struct err *err)
{
	struct following *self = data;

	found_release(self);
	if (self->model->has_access) {
		self->model->follower = NULL;
		return self->model->forgets ? err_set(err, ERR_INPUT, "it has accesses") : 0;
	}
	self->pass = behaviour_follow(self->model, &limits, &self->behaviour, err);
	self->growth = growth_samples_new(self->model);
	return self->pass && self->growth ? 0 : err_memory_for(err, "the findings");
}

void following_begin(struct following *self, struct model *model, bool forgets)
{
	*self = (struct following){.model = model,
				   .follower = {self, on_image, on_time, on_born, on_ended}};
	model_follow(model, &self->follower, forgets);
}

bool following_take(struct following *self, struct behaviour_table *behaviour,
		    struct growth_samples **growth)
{
	const struct model *model = self->model;

	if (self->failed || !self->pass || !model->finished || model->aggregated ||
	    model->has_access)
		return false;
	behaviour_followed(self->pass);
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
