/* SPDX-License-Identifier: MIT
 * Questions that other threads have for the drain thread: settings, and areas that nobody touches. */
#include "watch/watcher_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ASK_SECONDS = 2 };

struct question {
	const struct watch_settings *set; /* NULL = nothing is to change */
	struct watch_settings now;
	const struct stale_query *query;  /* NULL = none */
	struct watch_suspects *found;
	struct stale_rows *stale;
	bool answered, failed;
};

static void settings_change(struct watcher *self, const struct watch_settings *set)
{
	struct policy_options *policy = &self->options.policy;

	if (set->leak_after_ns)
		policy->leak_after_ns = set->leak_after_ns;
	if (set->overhead > 0)
		policy->overhead = set->overhead;
	self->policy.options.leak_after_ns = policy->leak_after_ns;
	self->policy.options.overhead = policy->overhead;
	if (!set->interval_ns)
		return;
	self->options.interval_ns = set->interval_ns;
	self->next_report_ns = self->last_report_ns + set->interval_ns;
}

/* The innermost frame that is not the recorder's. */
static void place_fill(const struct watcher *self, u32 context, struct watch_frame *place)
{
	struct watch_stack stack = {0};
	u32 at = 0;

	watcher_stack(self, context, &stack);
	while (at + 1 < stack.frames && strstr(stack.frame[at].module, "/libheapwise"))
		at++;
	if (stack.frames)
		*place = stack.frame[at];
}

static bool suspect_add(const struct watcher *self, struct watch_suspects *found, const struct area *area, u64 now)
{
	u32 point = area->context < self->frames.count ? self->frames.data[area->context].point : 0;
	struct watch_suspect row = {
		.chunk = area->chunk,
		.size = area->size,
		.age_ns = now > area->birth_ns ? now - area->birth_ns : 0,
		.idle_ns = area_age(area, now),
		.hits = area->hits,
		.number = point - !!point,
		.known = map_find(&self->classes, area->chunk) != NULL,
		.lost = watcher_is_lost(self, area),
	};

	if (area->unit)
		row.threshold_ns = policy_threshold_ns(&self->policy, area->unit);
	place_fill(self, area->context, &row.place);
	return vec_push(&found->rows, row);
}

static void question_answer(struct watcher *self, struct question *question, u64 now)
{
	if (question->set)
		settings_change(self, question->set);
	question->now = (struct watch_settings){
		.leak_after_ns = self->options.policy.leak_after_ns,
		.overhead = self->options.policy.overhead,
		.interval_ns = self->options.interval_ns,
	};
	if (question->query) {
		struct stale_query query = *question->query;

		if (!query.after_ns)
			query.after_ns = self->options.policy.leak_after_ns;
		stale_find(&self->areas, &query, now, question->stale);
		question->found->count = question->stale->count;
		question->found->bytes = question->stale->bytes;
		question->found->scanned = self->scanned;
		for (u32 i = 0; i < question->stale->rows && !question->failed; i++)
			question->failed = !suspect_add(self, question->found, question->stale->row[i], now);
	}
	question->answered = true;
}

/* On the drain thread. */
void watcher_answer(struct watcher *self, u64 now)
{
	pthread_mutex_lock(&self->lock);
	if (self->question) {
		question_answer(self, self->question, now);
		self->question = NULL;
		pthread_cond_broadcast(&self->answered);
	}
	pthread_mutex_unlock(&self->lock);
}

static bool ask(struct watcher *self, struct question *question)
{
	struct timespec until;
	bool in_time = true;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ASK_SECONDS;
	pthread_mutex_lock(&self->lock);
	while (self->question && in_time) /* somebody else's */
		in_time = pthread_cond_timedwait(&self->answered, &self->lock, &until) == 0;
	if (self->resting)
		question_answer(self, question, self->last_report_ns);
	else if (in_time)
		self->question = question;
	while (!question->answered && !self->resting && in_time)
		in_time = pthread_cond_timedwait(&self->answered, &self->lock, &until) == 0;
	if (self->question == question)
		self->question = NULL;
	pthread_cond_broadcast(&self->answered);
	pthread_mutex_unlock(&self->lock);
	return question->answered && !question->failed;
}

bool watcher_settings(struct watcher *self, struct watch_settings *settings)
{
	struct question question = {0};
	bool told = ask(self, &question);

	*settings = question.now;
	return told;
}

bool watcher_set(struct watcher *self, const struct watch_settings *settings)
{
	struct question question = {.set = settings};

	return ask(self, &question);
}

bool watcher_suspects(struct watcher *self, const struct stale_query *query, struct watch_suspects *found)
{
	struct question question = {.query = query, .found = found, .stale = calloc(1, sizeof(*question.stale))};
	bool told = question.stale && ask(self, &question);

	free(question.stale);
	return told;
}

void watcher_rest(struct watcher *self)
{
	pthread_mutex_lock(&self->lock);
	self->resting = true;
	pthread_cond_broadcast(&self->answered);
	pthread_mutex_unlock(&self->lock);
}
