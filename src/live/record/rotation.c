/* SPDX-License-Identifier: MIT
 * See rotation.h. Runs on the drain thread; never touches a file. */
#include "live/record/rotation.h"

#include <string.h>

#include "host/base/order.h"

#define TELL(function, ...) stream_tell(&self->trace, function, __VA_ARGS__)

/* ---- what the next file needs ---------------------------------------------------------------- */

static void forget(struct rotation *self)
{
	arena_release(&self->texts);
	vec_clear(&self->modules);
	vec_clear(&self->threads);
	vec_clear(&self->contexts);
	vec_clear(&self->live);
	vec_clear(&self->chunks);
	map_clear(&self->by_chunk);
	self->next = self->live_bytes = 0;
	memset(&self->totals, 0, sizeof(self->totals));
}

void rotation_release(struct rotation *self)
{
	forget(self);
	vec_release(&self->modules);
	vec_release(&self->threads);
	vec_release(&self->contexts);
	vec_release(&self->live);
	vec_release(&self->chunks);
	vec_release(&self->batch);
	map_release(&self->by_chunk);
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct rotation *self = data;

	forget(self);
	self->image = *image;
	self->image.program = arena_copy(&self->texts, image->program ? image->program : "");
	self->image.command = arena_copy(&self->texts, image->command ? image->command : "");
	self->ticks = image->start_ticks;
	self->told = true;
	return self->image.program && self->image.command ? TELL(image, image, err)
							  : err_memory_for(err, "the next trace");
}

static bool module_keep(struct rotation *self, const struct stream_module *module)
{
	u8 *build_id = arena_alloc(&self->texts, module->build_id_bytes);
	struct stream_module kept = *module;

	kept.path = arena_copy(&self->texts, module->path);
	kept.build_id = build_id;
	if (!kept.path || !build_id || !vec_push(&self->modules, kept))
		return false;
	memcpy(build_id, module->build_id, module->build_id_bytes);
	return true;
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct rotation *self = data;

	if (module->id < self->modules.count) /* it was unloaded */
		self->modules.data[module->id].unloaded_ticks = module->unloaded_ticks;
	else if (!module_keep(self, module))
		return err_memory_for(err, "the next trace");
	return TELL(module, module, err);
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct rotation *self = data;

	return vec_push(&self->threads, *thread) ? TELL(thread, thread, err)
						 : err_memory_for(err, "the next trace");
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct rotation *self = data;

	for (u64 i = 0; i < count; i++)
		if (!vec_push(&self->contexts, contexts[i]))
			return err_memory_for(err, "the next trace");
	return TELL(contexts, contexts, count, err);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool live_add(struct rotation *self, struct event *event)
{
	u64 chunk = event->chunk;

	event->chunk = self->next++;
	if (!map_put(&self->by_chunk, chunk, self->live.count) || !vec_push(&self->chunks, chunk) ||
	    !vec_push(&self->live, *event))
		return false;
	self->live_bytes += event->size;
	self->totals.allocations++;
	self->totals.bytes += event->size;
	if (self->live_bytes > self->totals.peak_bytes) {
		self->totals.peak_bytes = self->live_bytes;
		self->totals.peak_chunks = self->live.count;
		self->totals.peak_ticks = event->ticks;
	}
	return true;
}

/* The last one takes the place of what ended. */
static void live_remove(struct rotation *self, struct event *event)
{
	u64 index, last = self->live.count - 1;

	if (!map_remove(&self->by_chunk, event->chunk, &index))
		return;
	event->chunk = self->live.data[index].chunk;
	self->live_bytes -= self->live.data[index].size;
	self->totals.frees++;
	self->totals.freed_bytes += self->live.data[index].size;
	self->totals.implied_frees += event->flags & EVENT_IMPLIED ? 1 : 0;
	if (index != last) {
		self->live.data[index] = self->live.data[last];
		self->chunks.data[index] = self->chunks.data[last];
		/* it is there: no memory is needed */
		map_put(&self->by_chunk, self->chunks.data[index], index);
	}
	self->live.count--;
	self->chunks.count--;
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct rotation *self = data;

	vec_clear(&self->batch);
	for (u64 i = 0; i < count; i++) {
		struct event event = events[i];

		if (hw_kind_allocates(event.kind) && !live_add(self, &event))
			return err_memory_for(err, "the next trace");
		if (hw_kind_frees(event.kind) && event.chunk == NO_CHUNK)
			self->totals.unknown_frees++;
		else if (hw_kind_frees(event.kind))
			live_remove(self, &event);
		self->ticks = event.ticks > self->ticks ? event.ticks : self->ticks;
		if (!vec_push(&self->batch, event))
			return err_memory_for(err, "the next trace");
	}
	return TELL(events, self->batch.data, self->batch.count, err);
}

/* The number that a chunk which lives has in the present file. */
static bool number_of(const struct rotation *self, u64 *chunk)
{
	const u64 *index = map_find(&self->by_chunk, *chunk);

	if (index)
		*chunk = self->live.data[*index].chunk;
	return index != NULL;
}

/* What has ended is not told any more: its file may be closed. */
static int on_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	struct rotation *self = data;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		struct stream_type row = rows[i];

		if (number_of(self, &row.chunk))
			status = TELL(types, &row, 1, err);
	}
	return status;
}

static int by_chunk(const void *a, const void *b)
{
	const struct stream_class *x = a, *y = b;

	return rising(x->chunk, y->chunk);
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	struct rotation *self = data;
	struct stream_class *rows = malloc((count + 1) * sizeof(*rows));
	u64 kept = 0;
	int status;

	if (!rows)
		return err_memory_for(err, "the next trace");
	for (u64 i = 0; i < count; i++) {
		rows[kept] = classes[i];
		kept += number_of(self, &rows[kept].chunk);
	}
	qsort(rows, kept, sizeof(*rows), by_chunk);
	status = TELL(scan, scan, rows, kept, err);
	free(rows);
	return status;
}

/* ---- what is passed on ----------------------------------------------------------------------- */

#define PASS_ONE(function, type)                                                                   \
	static int on_##function(void *data, const struct type *one, struct err *err)              \
	{                                                                                          \
		struct rotation *self = data;                                                      \
                                                                                                   \
		return TELL(function, one, err);                                                   \
	}
#define PASS_ROWS(function, type)                                                                  \
	static int on_##function(void *data, const struct type *rows, u64 count, struct err *err)  \
	{                                                                                          \
		struct rotation *self = data;                                                      \
                                                                                                   \
		return TELL(function, rows, count, err);                                           \
	}
PASS_ONE(clock, stream_clock)
PASS_ONE(usage, stream_usage)
PASS_ONE(memory, stream_memory)
PASS_ONE(name, stream_name)
PASS_ROWS(aggregates, stream_aggregate)
PASS_ROWS(routines, stream_routine)

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	struct rotation *self = data;

	return TELL(note, key, value, err);
}

/* Chunks have other numbers in each file. Nobody has asked for more than to be told. */
static int on_graph(void *data, const struct stream_graph *graph, struct err *err)
{
	struct rotation *self = data;

	(void)graph;
	return TELL(note, "owners_failed", "a trace in several files does not hold pointers", err);
}

/* Counted anew for each file; what went wrong is told with the last. */
static int end_tell(struct rotation *self, const struct stream_image_end *end, struct err *err)
{
	struct stream_image_end told = *end;
	struct stream_totals totals = self->totals;

	memcpy(totals.faults, end->totals.faults, sizeof(totals.faults));
	totals.lost_events = end->totals.lost_events;
	totals.durations = end->totals.durations;
	totals.duration_ticks = end->totals.duration_ticks;
	totals.aggregated_from_ticks = end->totals.aggregated_from_ticks;
	totals.kept_chunks = self->live.count;
	totals.kept_bytes = self->live_bytes;
	told.totals = totals;
	self->told = false;
	return TELL(image_end, &told, err);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	return end_tell(data, end, err);
}

struct stream_sink rotation_sink(struct rotation *self)
{
	return (struct stream_sink){
		.self = self,
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
		.graph = on_graph,
		.routines = on_routines,
		.types = on_types,
		.name = on_name,
		.image_end = on_image_end,
		.note = on_note,
	};
}

/* ---- the turn -------------------------------------------------------------------------------- */

static int by_ticks(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return rising(x->ticks, y->ticks) ?: rising(x->chunk, y->chunk);
}

/* What lives begins the file in the order of births, with new numbers. */
static int live_tell(struct rotation *self, struct err *err)
{
	struct event *rows;

	for (u64 i = 0; i < self->live.count; i++)
		self->live.data[i].chunk = i; /* its place, for the moment */
	rows = malloc((self->live.count + 1) * sizeof(*rows));
	if (!rows)
		return err_memory_for(err, "the next trace");
	if (self->live.count)
		memcpy(rows, self->live.data, self->live.count * sizeof(*rows));
	qsort(rows, self->live.count, sizeof(*rows), by_ticks);
	self->next = self->live.count;
	for (u64 i = 0; i < self->live.count; i++) {
		u64 place = rows[i].chunk;

		rows[i].chunk = self->live.data[place].chunk = i;
		if (rows[i].kind == HW_REALLOC) /* what it was before is not there */
			rows[i].kind = self->live.data[place].kind = HW_MALLOC;
	}
	self->totals.allocations = self->totals.peak_chunks = self->live.count;
	self->totals.bytes = self->totals.peak_bytes = self->live_bytes;
	self->totals.peak_ticks = self->live.count ? rows[self->live.count - 1].ticks : 0;
	if (self->live.count && TELL(events, rows, self->live.count, err) < 0) {
		free(rows);
		return err->code;
	}
	free(rows);
	return 0;
}

static int begin_tell(struct rotation *self, struct err *err)
{
	int status = TELL(image, &self->image, err);

	for (u64 i = 0; i < self->modules.count && status == 0; i++)
		status = TELL(module, &self->modules.data[i], err);
	for (u64 i = 0; i < self->threads.count && status == 0; i++)
		status = TELL(thread, &self->threads.data[i], err);
	if (status == 0 && self->contexts.count)
		status = TELL(contexts, self->contexts.data, self->contexts.count, err);
	return status == 0 ? live_tell(self, err) : status;
}

int rotation_turn(struct rotation *self, const struct stream_sink *trace, struct err *err)
{
	struct stream_image_end end = {.ticks = self->ticks, .how = IMAGE_DETACHED};
	bool told = self->told;

	if (told && end_tell(self, &end, err) < 0)
		return err->code;
	self->trace = *trace;
	self->told = told;
	memset(&self->totals, 0, sizeof(self->totals));
	return told ? begin_tell(self, err) : 0;
}
