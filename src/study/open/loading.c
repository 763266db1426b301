/* SPDX-License-Identifier: MIT
 * Fills a model from a recording in progress; see loading.h. Host, on the drain thread until the
 * recording has ended. Whatever goes wrong ends the model only. */
#include "study/open/loading.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "host/base/map.h"
#include "host/base/vec.h"

/* All chunks, and two samples of them: the larger the recording, the fewer chunks stand for all. A
 * chunk is drawn with the probability 1 - exp(-size / interval), as --sample draws it, and gets a
 * number of its own among those of its sample. */
static const u64 intervals[] = {0, 256 << 10, 16 << 20};
enum { SAMPLES = 3 };

struct sample {
	struct model *model; /* NULL = given up */
	struct stream_sink sink;
	u64 interval;
	u64 told;           /* of the present image: events, contexts, pieces of memory */
	u64 drawn;          /* chunks */
	struct map numbers; /* of a chunk in the recording: its own + 1 */
	VEC(struct event) events;
	VEC(struct stream_class) classes;
	VEC(struct stream_access) accesses;
	VEC(struct stream_type) types;
};

struct loading {
	struct stream_sink sink;
	struct sample samples[SAMPLES];
	struct behaviour_table behaviour; /* the thread's, while it is analysing */
	bool analysing;
	pthread_t thread;
};

static void give_up(struct sample *self)
{
	model_free(self->model);
	map_release(&self->numbers);
	vec_release(&self->events);
	vec_release(&self->classes);
	vec_release(&self->accesses);
	vec_release(&self->types);
	*self = (struct sample){.interval = self->interval};
}

/* The one with most chunks that is left; NULL = none. */
static struct sample *best(struct loading *self)
{
	for (u32 i = 0; self && i < SAMPLES; i++)
		if (self->samples[i].model)
			return &self->samples[i];
	return NULL;
}

/* What makes a model large is counted. */
static bool has_room(struct sample *self, u64 more)
{
	self->told += more;
	return self->told <= LOADING_EVENTS_MAX;
}

/* ---- what all are told ---- */

#define TELL(room, function, ...)                                                                  \
	struct loading *self = data;                                                               \
	struct err own = {0};                                                                      \
                                                                                                   \
	(void)err;                                                                                 \
	for (u32 i = 0; i < SAMPLES; i++) {                                                        \
		struct sample *one = &self->samples[i];                                            \
                                                                                                   \
		if (one->model && (!has_room(one, room) ||                                         \
				   one->sink.function(one->sink.self, __VA_ARGS__, &own) < 0))     \
			give_up(one);                                                              \
	}                                                                                          \
	return 0

#define TELL_ONE(function, type)                                                                   \
	static int on_##function(void *data, const struct type *told, struct err *err)             \
	{                                                                                          \
		TELL(0, function, told);                                                           \
	}

TELL_ONE(module, stream_module)
TELL_ONE(thread, stream_thread)
TELL_ONE(clock, stream_clock)
TELL_ONE(usage, stream_usage)
TELL_ONE(name, stream_name)
TELL_ONE(image_end, stream_image_end)

static int on_contexts(void *data, const struct stream_context *rows, u64 count, struct err *err)
{
	TELL(count, contexts, rows, count);
}

static int on_aggregates(void *data, const struct stream_aggregate *rows, u64 count,
			 struct err *err)
{
	TELL(0, aggregates, rows, count);
}

static int on_memory(void *data, const struct stream_memory *memory, struct err *err)
{
	TELL(memory->count + memory->cached_count, memory, memory);
}

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	TELL(0, note, key, value);
}

/* ---- what samples are told of what they have drawn ---- */

static bool is_drawn(const struct sample *self, const struct event *event)
{
	double size = (double)(event->size ? event->size : 1) / (double)self->interval;
	double chance = (double)(hash_u64(event->chunk) >> 11) * 0x1p-53;

	/* 1 - exp(-x) is below x */
	return size >= 1 || (chance < size && chance < -expm1(-size));
}

/* Numbers a chunk that was drawn; the thread's count goes on for the others, so that it is known
 * which chunks are temporary. */
static bool take_allocation(struct sample *self, struct event *event)
{
	if (!is_drawn(self, event)) {
		if (event->thread < self->model->threads.count)
			self->model->threads.data[event->thread].made++;
		return false;
	}
	if (!map_put(&self->numbers, event->chunk, self->drawn + 1))
		return false;
	event->chunk = self->drawn++;
	return true;
}

static bool take_number(const struct sample *self, u64 *chunk)
{
	const u64 *number = map_find(&self->numbers, *chunk);

	if (number)
		*chunk = *number - 1;
	return number;
}

static bool take_event(struct sample *self, struct event *event)
{
	if (hw_kind_allocates(event->kind))
		return take_allocation(self, event);
	return event->chunk == NO_CHUNK || !hw_kind_frees(event->kind) ||
	       take_number(self, &event->chunk);
}

/* The rows that a sample is told, into a vector of its own. */
#define DRAW(name, row_type, rows, count, taken)                                                   \
	static bool draw_##name(struct sample *self, const struct row_type *rows, u64 count)       \
	{                                                                                          \
		self->name.count = 0;                                                              \
		for (u64 i = 0; i < count; i++) {                                                  \
			struct row_type row = rows[i];                                             \
                                                                                                   \
			if (taken && !vec_push(&self->name, row))                                  \
				return false;                                                      \
		}                                                                                  \
		return has_room(self, self->name.count);                                           \
	}

DRAW(events, event, rows, count, take_event(self, &row))
DRAW(classes, stream_class, rows, count, take_number(self, &row.chunk))
DRAW(accesses, stream_access, rows, count, take_number(self, &row.chunk))
DRAW(types, stream_type, rows, count, take_number(self, &row.chunk))

#define TELL_DRAWN(name, row_type)                                                                 \
	static int on_##name(void *data, const struct row_type *rows, u64 count, struct err *err)  \
	{                                                                                          \
		struct loading *self = data;                                                       \
		struct err own = {0};                                                              \
                                                                                                   \
		(void)err;                                                                         \
		for (u32 i = 0; i < SAMPLES; i++) {                                                \
			struct sample *one = &self->samples[i];                                    \
			bool ok = !one->model || (one->interval ? draw_##name(one, rows, count)    \
								: has_room(one, count));           \
                                                                                                   \
			if (ok && one->model)                                                      \
				ok = (one->interval                                                \
					      ? one->sink.name(one->sink.self, one->name.data,     \
							       one->name.count, &own)              \
					      : one->sink.name(one->sink.self, rows, count,        \
							       &own)) == 0;                        \
			if (!ok)                                                                   \
				give_up(one);                                                      \
		}                                                                                  \
		return 0;                                                                          \
	}

TELL_DRAWN(events, event)
TELL_DRAWN(accesses, stream_access)
TELL_DRAWN(types, stream_type)

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *rows,
		   u64 count, struct err *err)
{
	struct loading *self = data;
	struct err own = {0};

	(void)err;
	for (u32 i = 0; i < SAMPLES; i++) {
		struct sample *one = &self->samples[i];
		bool ok = !one->model || !one->interval || draw_classes(one, rows, count);

		if (ok && one->model)
			ok = (one->interval
				      ? one->sink.scan(one->sink.self, scan, one->classes.data,
						       one->classes.count, &own)
				      : one->sink.scan(one->sink.self, scan, rows, count, &own)) ==
			     0;
		if (!ok)
			give_up(one);
	}
	return 0;
}

/* Each image has models of its own, also after one that was too large. What is a sample already is
 * not drawn from again. */
static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct loading *self = data;
	struct err own = {0};

	(void)err;
	for (u32 i = 0; i < SAMPLES; i++) {
		struct sample *one = &self->samples[i];
		struct stream_image mine = *image;

		give_up(one);
		one->interval = intervals[i];
		if (one->interval && image->sample_bytes)
			continue;
		if (one->interval)
			mine.sample_bytes = one->interval;
		one->model = model_new();
		if (!one->model)
			continue;
		one->sink = model_sink(one->model);
		if (one->sink.image(one->model, &mine, &own) < 0)
			give_up(one);
	}
	return 0;
}

struct loading *loading_new(void)
{
	struct loading *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	self->sink = (struct stream_sink){.self = self,
					  .image = on_image,
					  .module = on_module,
					  .thread = on_thread,
					  .contexts = on_contexts,
					  .events = on_events,
					  .clock = on_clock,
					  .usage = on_usage,
					  .memory = on_memory,
					  .aggregates = on_aggregates,
					  .scan = on_scan,
					  .accesses = on_accesses,
					  .types = on_types,
					  .name = on_name,
					  .image_end = on_image_end,
					  .note = on_note};
	return self;
}

const struct stream_sink *loading_sink(struct loading *self) { return self ? &self->sink : NULL; }

static void *analyse(void *data)
{
	static const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct loading *self = data;
	struct err err = {0};

	if (behaviour_begin(best(self)->model, &limits, &self->behaviour, &err) < 0)
		behaviour_table_release(&self->behaviour);
	return NULL;
}

/* Signals are for other threads. */
void loading_analyse(struct loading *self)
{
	sigset_t all, before;

	if (!best(self))
		return;
	model_finish(best(self)->model);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	self->analysing = pthread_create(&self->thread, NULL, analyse, self) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_analysing(struct loading *self)
{
	if (self->analysing)
		pthread_join(self->thread, NULL);
	self->analysing = false;
}

enum loading_what loading_what(struct loading *self)
{
	struct sample *one = best(self);

	return !one ? LOADING_NOTHING : one->interval ? LOADING_SAMPLE : LOADING_ALL;
}

const struct model *loading_look(struct loading *self)
{
	struct sample *one = best(self);

	return one ? one->model : NULL;
}

struct model *loading_take(struct loading *self, struct behaviour_table *begun)
{
	struct sample *one = best(self);
	struct model *model;

	if (!one)
		return NULL;
	stop_analysing(self);
	model = one->model;
	one->model = NULL;
	model_finish(model);
	*begun = self->behaviour;
	self->behaviour = (struct behaviour_table){0};
	return model;
}

void loading_free(struct loading *self)
{
	if (!self)
		return;
	stop_analysing(self);
	behaviour_table_release(&self->behaviour);
	for (u32 i = 0; i < SAMPLES; i++)
		give_up(&self->samples[i]);
	free(self);
}
