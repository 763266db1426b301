/* SPDX-License-Identifier: MIT
 * Fills a model from a recording in progress; see loading.h. Host, on the drain thread until the
 * recording has ended. Whatever goes wrong ends the model only. */
#include "study/open/loading.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct loading {
	struct stream_sink sink;
	struct model *model; /* NULL = given up */
	struct stream_sink filling;
	u64 told; /* of the present image: events, contexts, pieces of memory */
	struct behaviour_table behaviour; /* the thread's, while it is analysing */
	bool analysing;
	pthread_t thread;
};

static void give_up(struct loading *self)
{
	model_free(self->model);
	self->model = NULL;
}

/* What makes a model large is counted. */
static bool has_room(struct loading *self, u64 more)
{
	self->told += more;
	return self->told <= LOADING_EVENTS_MAX;
}

#define TELL(room, function, ...)                                                                  \
	struct loading *self = data;                                                               \
	struct err own = {0};                                                                      \
                                                                                                   \
	(void)err;                                                                                 \
	if (self->model && (!has_room(self, room) ||                                               \
			    self->filling.function(self->filling.self, __VA_ARGS__, &own) < 0))    \
		give_up(self);                                                                     \
	return 0

#define TELL_ONE(function, type)                                                                   \
	static int on_##function(void *data, const struct type *told, struct err *err)             \
	{                                                                                          \
		TELL(0, function, told);                                                           \
	}

#define TELL_ROWS(function, type)                                                                  \
	static int on_##function(void *data, const struct type *rows, u64 count, struct err *err)  \
	{                                                                                          \
		TELL(count, function, rows, count);                                                \
	}

TELL_ONE(module, stream_module)
TELL_ONE(thread, stream_thread)
TELL_ONE(clock, stream_clock)
TELL_ONE(usage, stream_usage)
TELL_ONE(name, stream_name)
TELL_ONE(image_end, stream_image_end)
TELL_ROWS(contexts, stream_context)
TELL_ROWS(events, event)
TELL_ROWS(accesses, stream_access)
TELL_ROWS(types, stream_type)

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

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *rows,
		   u64 count, struct err *err)
{
	TELL(0, scan, scan, rows, count);
}

/* Each image has a model of its own, also after one that was too large. */
static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct loading *self = data;
	struct err own = {0};

	(void)err;
	give_up(self);
	self->told = 0;
	self->model = model_new();
	if (!self->model)
		return 0;
	self->filling = model_sink(self->model);
	if (self->filling.image(self->filling.self, image, &own) < 0)
		give_up(self);
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

	if (behaviour_begin(self->model, &limits, &self->behaviour, &err) < 0)
		behaviour_table_release(&self->behaviour);
	return NULL;
}

/* Signals are for other threads. */
void loading_analyse(struct loading *self)
{
	sigset_t all, before;

	if (!self || !self->model)
		return;
	model_finish(self->model);
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

const struct model *loading_look(struct loading *self) { return self ? self->model : NULL; }

struct model *loading_take(struct loading *self, struct behaviour_table *begun)
{
	struct model *model = self ? self->model : NULL;

	if (!model)
		return NULL;
	stop_analysing(self);
	self->model = NULL;
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
	give_up(self);
	free(self);
}
