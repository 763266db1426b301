/* SPDX-License-Identifier: MIT
 * Questions that other threads have for the drain thread: settings, areas that nobody touches,
 * points of a thread. */
#include "live/watch/watcher.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/base/clock.h"
#include "live/watch/watcher_state.h"

enum { ASK_SECONDS = 10 };

struct question {
	const struct watch_settings *set; /* NULL = nothing is to change */
	struct watch_settings now;
	const struct stale_query *query; /* NULL = none */
	struct watch_suspects *found;
	struct stale_rows *stale;
	const struct top_query *top_query; /* NULL = none */
	struct watch_top *top;
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

static bool suspect_add(const struct watcher *self, struct watch_suspects *found,
			const struct area *area, u64 now)
{
	u32 point = area->context < self->frames.count ? self->frames.data[area->context].point : 0;
	struct watch_suspect row = {
		.chunk = area->chunk,
		.size = area->size,
		.age_ns = now > area->birth_ns ? now - area->birth_ns : 0,
		.idle_ns = area_idle(area, now),
		.hits = area->hits,
		.number = point - !!point,
		.known = watcher_is_scanned(self, area),
		.lost = watcher_is_lost(self, area),
	};

	if (area->unit)
		row.threshold_ns = policy_threshold_ns(&self->policy, area->unit);
	place_fill(self, area->context, &row.place);
	return vec_push(&found->rows, row);
}

static u64 line_of(const struct watcher *self, u32 context)
{
	return context < self->frames.count ? self->frames.data[context].pc : 0;
}

static bool top_row_add(const struct watcher *self, const struct top_found *all, u64 at,
			struct watch_top *found)
{
	const struct top_row *top = &all->rows.data[at];
	u32 point = top->context < self->frames.count ? self->frames.data[top->context].point : 0;
	struct watch_top_row row = {.number = point - !!point,
				    .areas = top->areas,
				    .bytes = top->bytes};

	for (u64 i = 0; i < all->rows.count; i++)
		if (line_of(self, all->rows.data[i].context) == line_of(self, top->context))
			row.line_bytes += all->rows.data[i].bytes;
	place_fill(self, top->context, &row.place);
	return vec_push(&found->rows, row);
}

static bool thread_add(const struct watcher *self, const struct top_row *row,
		       struct watch_top *found)
{
	struct watch_thread thread = {.index = row->context,
				      .areas = row->areas,
				      .bytes = row->bytes};

	if (row->context < self->threads.count) {
		thread.tid = self->threads.data[row->context].tid;
		memcpy(thread.name, self->threads.data[row->context].name, sizeof(thread.name));
	}
	return vec_push(&found->threads, thread);
}

/* False without memory. */
static bool top_answer(const struct watcher *self, const struct top_query *query,
		       struct watch_top *found, u64 now)
{
	struct top_found all = {0};
	bool good = top_points(&self->areas, query->thread, &all);

	found->elapsed_ns = now - self->areas.start_ns;
	found->points = all.rows.count;
	for (u64 i = 0; i < all.rows.count && i < query->limit && good; i++)
		good = top_row_add(self, &all, i, found);
	for (u64 i = 0; i < all.threads.count && good; i++)
		good = !all.threads.data[i].areas || thread_add(self, &all.threads.data[i], found);
	top_release(&all);
	return good;
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
			question->failed =
				!suspect_add(self, question->found, question->stale->row[i], now);
	}
	if (question->top_query)
		question->failed = !top_answer(self, question->top_query, question->top, now);
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
	struct timespec until = clock_time(clock_ns(CLOCK_REALTIME) + ASK_SECONDS * 1000000000ull);
	bool in_time = true;

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

bool watcher_suspects(struct watcher *self, const struct stale_query *query,
		      struct watch_suspects *found)
{
	struct question question = {.query = query,
				    .found = found,
				    .stale = calloc(1, sizeof(*question.stale))};
	bool told = question.stale && ask(self, &question);

	free(question.stale);
	return told;
}

bool watcher_top(struct watcher *self, const struct top_query *query, struct watch_top *found)
{
	struct question question = {.top_query = query, .top = found};

	return ask(self, &question);
}

void watcher_rest(struct watcher *self)
{
	pthread_mutex_lock(&self->lock);
	self->resting = true;
	pthread_cond_broadcast(&self->answered);
	pthread_mutex_unlock(&self->lock);
}
