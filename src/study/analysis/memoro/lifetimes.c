/* SPDX-License-Identifier: MIT
 * Groups of chunks that were allocated close together in time, and how long they live.
 * Host. */
#include "study/analysis/memoro/pass.h"

#include "host/base/search.h"

enum { GROUPS_MERGED = 64 };

static double group_score(const struct open_group *group)
{
	double span = (double)(group->end_ticks - group->first_ticks);

	return span > 0 ? group->life_sum / group->chunks / span : 1;
}

/* Further apart are two groups, if the run ended then. */
u64 lifetimes_gap(const struct model *model, const struct thresholds *limits, u64 end_ticks)
{
	u64 start = model->image.start_ticks;

	return pass_limit(limits->group_gap * (double)(end_ticks > start ? end_ticks - start : 0));
}

/* The longer the run the wider the gap, so that what is one group now stays one. */
static void groups_merge(struct point_state *state, u64 gap)
{
	u64 count = 0;

	for (u64 i = 1; i < state->groups.count; i++) {
		struct open_group *last = &state->groups.data[count];
		const struct open_group *next = &state->groups.data[i];

		if (next->first_ticks > last->newest_ticks &&
		    next->first_ticks - last->newest_ticks > gap) {
			state->groups.data[++count] = *next;
			continue;
		}
		if (next->newest_ticks > last->newest_ticks)
			last->newest_ticks = next->newest_ticks;
		if (next->end_ticks > last->end_ticks)
			last->end_ticks = next->end_ticks;
		last->life_sum += next->life_sum;
		last->chunks += next->chunks;
	}
	state->groups.count = state->groups.count ? count + 1 : 0;
}

/* Chunks come in the order of their numbers; one that was published late may carry an earlier
 * time, and belongs to the newest group all the same. */
bool lifetimes_born(struct point_state *state, u64 born, u64 gap)
{
	struct open_group *newest =
		state->groups.count ? &state->groups.data[state->groups.count - 1] : NULL;

	if (newest && (born <= newest->newest_ticks || born - newest->newest_ticks <= gap)) {
		if (born > newest->newest_ticks)
			newest->newest_ticks = born;
		if (born < newest->first_ticks)
			newest->first_ticks = born;
		return true;
	}
	if (state->groups.count >= state->merge_at) {
		groups_merge(state, gap);
		state->merge_at = 2 * state->groups.count;
		if (state->merge_at < GROUPS_MERGED)
			state->merge_at = GROUPS_MERGED;
	}
	return vec_push(&state->groups,
			((struct open_group){.first_ticks = born, .newest_ticks = born}));
}

void lifetimes_ended(struct point_state *state, const struct seen *chunk)
{
	u64 end = chunk->born + chunk->life, at = state->groups.count - 1;
	struct open_group *group = state->groups.data;

	if (at && group[at].first_ticks > chunk->born)
		at = bisect(i, at, group[i + 1].first_ticks <= chunk->born);
	group += at;
	if (end > group->end_ticks)
		group->end_ticks = end;
	group->life_sum += (double)chunk->life * chunk->weight;
	group->chunks += chunk->weight;
}

void lifetimes_finish(struct point_state *state, struct behaviour *sums, u64 gap)
{
	groups_merge(state, gap);
	for (u64 i = 0; i < state->groups.count; i++) {
		const struct open_group *group = &state->groups.data[i];

		if (group->chunks <= 0)
			continue; /* of none the end is known */
		sums->group_scores += group_score(group);
		sums->groups++;
	}
}

static bool is_worse(const struct lifetime_group *a, const struct lifetime_group *b)
{
	return a->score != b->score ? a->score < b->score : a->chunks > b->chunks;
}

static void worst_take(struct worst_groups *self, const struct open_group *group)
{
	struct lifetime_group one = {group->first_ticks, group->end_ticks, group->chunks, 1};
	u32 at;

	if (group->chunks <= 0)
		return;
	one.score = group_score(group);
	self->groups++;
	if (self->count == WORST_GROUPS && !is_worse(&one, &self->rows[WORST_GROUPS - 1]))
		return;
	self->count += self->count < WORST_GROUPS;
	for (at = self->count - 1; at && is_worse(&one, &self->rows[at - 1]); at--)
		self->rows[at] = self->rows[at - 1];
	self->rows[at] = one;
}

void behaviour_worst_groups(const struct model *model, const struct thresholds *limits,
			    const u32 *chunks, u64 count, struct worst_groups *worst)
{
	u64 gap = lifetimes_gap(model, limits, model->last_ticks);
	struct point_state state = {0};
	u64 newest;

	*worst = (struct worst_groups){0};
	for (u64 i = 0; i < count; i++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunks[i]);
		u32 k = chunks[i] % CHUNK_PAGE;
		struct seen chunk;

		if (!page || page->end[k] == CHUNK_ABSENT)
			continue;
		chunk = pass_see(model, page, k, chunks[i]);
		newest = state.groups.count ? state.groups.data[0].newest_ticks : 0;
		if (!chunk.timed)
			continue;
		if (state.groups.count && chunk.born > newest && chunk.born - newest > gap) {
			worst_take(worst, &state.groups.data[0]);
			vec_clear(&state.groups);
		}
		if (!lifetimes_born(&state, chunk.born, gap))
			break;
		lifetimes_ended(&state, &chunk);
	}
	if (state.groups.count)
		worst_take(worst, &state.groups.data[0]);
	vec_release(&state.groups);
}
