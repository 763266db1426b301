/* SPDX-License-Identifier: MIT
 * Ticks and who looks at them; see feed.h. Runs on threads of the server, and on the one that makes
 * ticks. Never waits for a viewer. */
#define _GNU_SOURCE
#include "show/serve/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/base/clock.h"
#include "host/base/options.h"

enum { LOOK_MS = 500, BREATH_MS = 10000, FAREWELL_MS = 1000 };

static u64 now_ms(void) { return now_ns() / 1000000; }

/* With the lock: until something has changed, but not for long. */
static void nap(struct feed *feed)
{
	struct timespec until = clock_time(now_ns() + LOOK_MS * 1000000ull);

	pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

void feed_init(struct feed *self)
{
	memset(self, 0, sizeof(*self));
	self->stride = FEED_STRIDE;
	pthread_mutex_init(&self->lock, NULL);
	clock_cond_init(&self->changed);
}

void feed_release(struct feed *self)
{
	for (u32 i = 0; i < FEED_TICKS; i++)
		free(self->ring[i].text);
	for (u32 i = 0; i < self->older_count; i++)
		free(self->older[i].text);
	free(self->ended);
	pthread_cond_destroy(&self->changed);
	pthread_mutex_destroy(&self->lock);
}

/* Twice as far apart as before. */
static void older_thin(struct feed *self)
{
	u32 kept = 0;

	self->stride *= 2;
	for (u32 i = 0; i < self->older_count; i++) {
		if (self->older[i].number % self->stride == 0)
			self->older[kept++] = self->older[i];
		else
			free(self->older[i].text);
	}
	self->older_count = kept;
}

/* A tick that leaves the ring. */
static void older_add(struct feed *self, struct feed_tick *tick)
{
	if (self->older_count == FEED_OLDER)
		older_thin(self);
	if (tick->number && tick->number % self->stride == 0)
		self->older[self->older_count++] = *tick;
	else
		free(tick->text);
}

void feed_push(struct feed *self, u64 t_ns, char *text)
{
	struct feed_tick *tick;

	pthread_mutex_lock(&self->lock);
	tick = &self->ring[++self->newest % FEED_TICKS];
	older_add(self, tick);
	*tick = (struct feed_tick){self->newest, t_ns, text};
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
}

void feed_end(struct feed *self, char *text)
{
	pthread_mutex_lock(&self->lock);
	free(self->ended);
	self->ended = text;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->lock);
}

void feed_close(struct feed *self)
{
	u64 until = now_ms() + FAREWELL_MS;

	pthread_mutex_lock(&self->lock);
	self->closing = true;
	pthread_cond_broadcast(&self->changed);
	while (self->streams && now_ms() < until)
		nap(self);
	pthread_mutex_unlock(&self->lock);
}

/* The number of the oldest tick that is there as it was. */
static u64 oldest_of(const struct feed *self)
{
	return self->newest >= FEED_TICKS ? self->newest - FEED_TICKS + 1 : 1;
}

/* ---- streams --------------------------------------------------------------------------------- */

struct feed_stream {
	struct feed *feed;
	const struct request *request; /* lives as long as the stream is read */
	u64 next;                      /* number of the tick that is to be sent */
	u64 refill;                    /* up to here nothing is skipped: it was asked for */
	bool told_end;
	u64 spoke_ms;
	struct strbuf text; /* what is being sent */
	u64 at;
};

static void say_gap(struct feed_stream *self, u64 missed)
{
	strbuf_addf(&self->text, "event: gap\ndata: {\"missed\":%llu}\n\n",
		    (unsigned long long)missed);
}

static void say_tick(struct feed_stream *self)
{
	const struct feed_tick *tick = &self->feed->ring[self->next % FEED_TICKS];

	strbuf_addf(&self->text, "event: tick\nid: %llu\ndata: %s\n\n",
		    (unsigned long long)tick->number, tick->text);
	self->next++;
}

/* With the lock: what is to be sent now; nothing if there is nothing yet. */
static void stream_fill(struct feed_stream *self)
{
	struct feed *feed = self->feed;
	u64 from = self->next;

	if (from < oldest_of(feed))
		from = oldest_of(feed);
	if (from > self->refill && feed->newest >= from + FEED_BEHIND)
		from = feed->newest;
	if (from > self->next && self->next <= feed->newest)
		say_gap(self, from - self->next);
	self->next = from > self->next ? from : self->next;
	if (self->next <= feed->newest) {
		say_tick(self);
	} else if (feed->ended && !self->told_end) {
		strbuf_addf(&self->text, "event: end\ndata: %s\n\n", feed->ended);
		self->told_end = true;
	} else if (now_ms() - self->spoke_ms > BREATH_MS) {
		strbuf_add(
			&self->text,
			": still here\n\n"); /* or else nobody would see that a viewer has gone */
	}
}

/* False at the end. */
static bool stream_next(struct feed_stream *self)
{
	struct feed *feed = self->feed;
	bool over;

	pthread_mutex_lock(&feed->lock);
	for (;;) {
		over = self->told_end || (feed->closing && !feed->ended);
		if (over)
			break;
		stream_fill(self);
		if (self->text.count)
			break;
		nap(feed);
		if (request_gone(self->request)) {
			over = true;
			break;
		}
	}
	pthread_mutex_unlock(&feed->lock);
	self->spoke_ms = now_ms();
	return !over && !self->text.failed;
}

static size_t stream_read(void *data, char *to, size_t room)
{
	struct feed_stream *self = data;
	u64 bytes;

	if (self->at == self->text.count) {
		strbuf_clear(&self->text);
		self->at = 0;
		if (!stream_next(self))
			return 0;
	}
	bytes = self->text.count - self->at;
	if (bytes > room)
		bytes = room;
	memcpy(to, self->text.text + self->at, bytes);
	self->at += bytes;
	return bytes;
}

static void stream_free(void *data)
{
	struct feed_stream *self = data;

	pthread_mutex_lock(&self->feed->lock);
	self->feed->streams--;
	pthread_cond_broadcast(&self->feed->changed);
	pthread_mutex_unlock(&self->feed->lock);
	strbuf_release(&self->text);
	free(self);
}

/* From the newest tick on, or from what the viewer has. */
static void stream_place(struct feed_stream *self, const char *last)
{
	u64 newest = self->feed->newest, had;

	self->next = newest ? newest : 1;
	if (!last || !parse_number(last, &had) || had > newest)
		return;
	self->next = had + 1;
	self->refill = newest;
}

bool feed_stream_open(struct feed *self, const struct request *request,
		      struct answer_stream *stream)
{
	struct feed_stream *made = calloc(1, sizeof(*made));
	bool room;

	if (!made)
		return false;
	made->feed = self;
	made->request = request;
	made->spoke_ms = now_ms();
	strbuf_add(&made->text,
		   "retry: 1000\n\n"); /* also: the viewer sees at once that it is open */
	pthread_mutex_lock(&self->lock);
	room = self->streams < FEED_STREAMS && !self->closing;
	self->streams += room;
	stream_place(made, request->last_event);
	pthread_mutex_unlock(&self->lock);
	*stream = (struct answer_stream){made, stream_read, stream_free};
	if (room)
		return true;
	strbuf_release(&made->text);
	free(made);
	*stream = (struct answer_stream){0};
	return false;
}

/* ---- history --------------------------------------------------------------------------------- */

/* With the lock. */
static u64 history_count(const struct feed *self, u64 from_ns)
{
	u64 count = 0;

	for (u32 i = 0; i < self->older_count; i++)
		count += self->older[i].t_ns >= from_ns;
	for (u64 i = oldest_of(self); i <= self->newest; i++)
		count += self->ring[i % FEED_TICKS].t_ns >= from_ns;
	return count;
}

/* Of `found` ticks every step-th, so that the last is among them. */
struct thinning {
	u64 from_ns, found, step, at;
};

static bool history_add(struct feed_history *self, struct thinning *how,
			const struct feed_tick *tick)
{
	const char *text;

	if (tick->t_ns < how->from_ns)
		return true;
	if ((how->found - 1 - how->at++) % how->step)
		return true;
	text = arena_copy(&self->arena, tick->text);
	return text && vec_push(&self->texts, text);
}

bool feed_history_read(struct feed *self, u64 from_ns, u64 most, struct feed_history *history)
{
	struct thinning how = {.from_ns = from_ns};
	bool done = true;

	*history = (struct feed_history){0};
	pthread_mutex_lock(&self->lock);
	how.found = history->found = history_count(self, from_ns);
	how.step = (how.found + most - 1) / most;
	if (!how.step)
		how.step = 1;
	for (u32 i = 0; i < self->older_count && done; i++)
		done = history_add(history, &how, &self->older[i]);
	for (u64 i = oldest_of(self); i <= self->newest && done; i++)
		done = history_add(history, &how, &self->ring[i % FEED_TICKS]);
	pthread_mutex_unlock(&self->lock);
	return done;
}

void feed_history_release(struct feed_history *history)
{
	vec_release(&history->texts);
	arena_release(&history->arena);
}
