/* SPDX-License-Identifier: MIT
 * The model's life: making it, what the stream tells besides events, the end, and derived numbers.
 * Host. Trusts no index of a stream: ids are bounded before anything is sized by them. */
#include "study/model/model.h"

#include <math.h>
#include <string.h>

#include "host/base/order.h"
#include "host/trace/kinds.h"
#include "study/model/each.h"
#include "study/model/fill.h"
#include "study/model/graphs.h"
#include "study/model/narrow.h"

enum { SAMPLED_COUNT_SHIFT = 10, THREADS_MAX = 1 << 24 };

struct model *model_new(void) { return calloc(1, sizeof(struct model)); }

static void model_clear(struct model *self)
{
	chunk_table_release(&self->chunks);
	access_table_release(&self->accesses);
	type_table_release(&self->type_table);
	vec_release(&self->types);
	map_release(&self->types_by_name);
	context_table_release(&self->contexts);
	vec_release(&self->told);
	map_release(&self->told_numbers);
	vec_release(&self->points);
	vec_release(&self->sizes);
	map_release(&self->size_numbers);
	vec_release(&self->maps);
	pattern_table_release(&self->patterns);
	vec_release(&self->threads);
	vec_release(&self->usage);
	vec_release(&self->memory);
	vec_release(&self->residents);
	vec_release(&self->cached);
	vec_release(&self->marks);
	vec_release(&self->names);
	vec_release(&self->snapshots);
	vec_release(&self->snapshot_points);
	vec_release(&self->notes);
	vec_release(&self->context_points);
	vec_release(&self->frame_points);
	tick_clock_release(&self->clock);
	misfits_release(&self->misfits);
	model_release_graphs(self);
	vec_release(&self->usage_live);
	vec_release(&self->memory_live);
	rows_release(&self->rows);
	vec_release(&self->ended);
	vec_release(&self->free_rows);
	arena_release(&self->arena);
	memset(self, 0, sizeof *self);
}

void model_reset(struct model *self)
{
	struct column_store *store = self->store;

	model_clear(self);
	column_store_free(store);
}

void model_free(struct model *self)
{
	if (!self)
		return;
	if (self->whole)
		model_narrow_release(self);
	else
		model_reset(self);
	free(self);
}

void model_use_store(struct model *self, struct column_store *store)
{
	self->store = self->chunks.store = store;
	self->accesses.cells.store = self->type_table.cells.store = store;
}

void model_follow(struct model *self, const struct model_follower *follower, bool forgets)
{
	self->follower = follower;
	self->forgets = forgets;
	self->wake_ticks = 0;
}

/* Another image replaces what is there, also in the file. */
static void start_again(struct model *self)
{
	const struct model_follower *follower = self->follower;
	struct column_store *store = self->store;
	bool forgets = self->forgets;

	model_clear(self);
	if (follower)
		model_follow(self, follower, forgets);
	if (!store)
		return;
	column_store_reset(store);
	model_use_store(self, store);
}

void model_release_range(const struct model *self, u64 first, u64 end)
{
	chunk_table_release_range(&self->chunks, first, end);
	cell_pages_release_range(&self->accesses.cells, ACCESS_CELL_BYTES, first, end);
	cell_pages_release_range(&self->type_table.cells, sizeof(struct type_cell), first, end);
}

void model_weigh(const struct model *self, u64 size, u64 *units, u64 *bytes)
{
	u64 interval = self->image.sample_bytes;
	double weight;

	*units = 1ull << self->count_shift;
	*bytes = size;
	if (!self->count_shift || size >= interval)
		return;
	/* Chunks of no bytes are never drawn; should one be told, it weighs as one byte. */
	weight = 1 / -expm1(-(double)(size ? size : 1) / (double)interval);
	*units = (u64)llround(weight * (double)*units);
	*bytes = (u64)llround(weight * (double)size);
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct model *self = data;

	if (self->has_image)
		start_again(self);
	self->image = *image;
	self->image.program = arena_copy(&self->arena, image->program ? image->program : "");
	self->image.command = arena_copy(&self->arena, image->command ? image->command : "");
	if (!self->image.program || !self->image.command ||
	    !tick_clock_start(&self->clock, image->start_ticks, image->start_ns))
		return err_memory_for(err, "the model");
	timeline_start(&self->timeline, image->start_ticks);
	self->has_access = image->access != ACCESS_NONE;
	self->scan.reason = "";
	self->count_shift = image->sample_bytes ? SAMPLED_COUNT_SHIFT : 0;
	self->last_ticks = image->start_ticks;
	self->has_image = true;
	return self->follower ? self->follower->begin(self->follower->self, err) : 0;
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct model *self = data;

	return modmap_tell(&self->contexts.modules, module, err);
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct model *self = data;
	struct model_thread *known;

	if (thread->index >= THREADS_MAX)
		return err_set(err, ERR_INPUT, "thread number %u is out of range", thread->index);
	if (!vec_extend(&self->threads, (u64)thread->index + 1))
		return err_memory_for(err, "the model");
	known = &self->threads.data[thread->index];
	known->tid = thread->tid;
	known->start_ticks = thread->start_ticks;
	memcpy(known->name, thread->name, sizeof known->name);
	known->name[sizeof known->name - 1] = 0;
	known->told = true;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct model *self = data;

	return context_table_tell(&self->contexts, contexts, count, err);
}

static int on_clock(void *data, const struct stream_clock *clock, struct err *err)
{
	struct model *self = data;

	return tick_clock_tell(&self->clock, clock) ? 0 : err_memory_for(err, "the model");
}

static int on_usage(void *data, const struct stream_usage *usage, struct err *err)
{
	struct model *self = data;

	if (usage->ticks < self->wake_ticks)
		self->wake_ticks = usage->ticks;
	return vec_push(&self->usage, *usage) ? 0 : err_memory_for(err, "the model");
}

static int on_memory(void *data, const struct stream_memory *memory, struct err *err)
{
	struct model *self = data;
	struct model_memory row = {.ticks = memory->ticks,
				   .rss_bytes = memory->rss_bytes,
				   .high_bytes = memory->high_bytes,
				   .huge_bytes = memory->huge_bytes,
				   .libc_huge_bytes = memory->libc_huge_bytes,
				   .first = self->residents.count,
				   .count = memory->count,
				   .moment = memory->moment,
				   .why = memory->why,
				   .cached_first = self->cached.count,
				   .cached_count = memory->cached_count,
				   .caches_read = memory->caches_read,
				   .caches_unread = memory->caches_unread};

	if (!vec_reserve(&self->residents, memory->count) ||
	    !vec_reserve(&self->cached, memory->cached_count) || !vec_push(&self->memory, row))
		return err_memory_for(err, "the model");
	if (memory->ticks < self->wake_ticks)
		self->wake_ticks = memory->ticks;
	for (u64 i = 0; i < memory->count; i++)
		self->residents.data[self->residents.count++] = memory->rows[i];
	for (u64 i = 0; i < memory->cached_count; i++)
		self->cached.data[self->cached.count++] = memory->cached[i];
	return 0;
}

static void forget_classes(struct model *self)
{
	for (u64 i = 0; i < self->chunks.pages.count; i++)
		if (self->chunks.pages.data[i])
			memset(self->chunks.pages.data[i]->chunk_class, CLASS_UNKNOWN, CHUNK_PAGE);
}

static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	struct model *self = data;
	const char *reason = arena_copy(&self->arena, scan->reason ? scan->reason : "");

	if (!reason)
		return err_memory_for(err, "the model");
	if (self->scan.state == SCAN_DONE && scan->state != SCAN_DONE) {
		self->scan.reason = reason; /* what was found before is all that is known */
		return 0;
	}
	if (self->scan.state == SCAN_DONE)
		forget_classes(self);
	self->scan = (struct model_scan){.ticks = scan->ticks,
					 .state = scan->state,
					 .reason = reason,
					 .roots_bytes = scan->roots_bytes,
					 .chunks = scan->chunks,
					 .scan_ns = scan->scan_ns};
	memcpy(self->scan.class_chunks, scan->class_chunks, sizeof self->scan.class_chunks);
	memcpy(self->scan.class_bytes, scan->class_bytes, sizeof self->scan.class_bytes);
	for (u64 i = 0; i < count; i++) {
		u64 chunk = model_row(self, classes[i].chunk);

		/* What the trace does not know of cannot be shown either. */
		if (chunk < self->chunks.count && chunk_end(&self->chunks, chunk) != CHUNK_ABSENT)
			chunk_at(&self->chunks, chunk)->chunk_class[chunk % CHUNK_PAGE] =
				classes[i].chunk_class;
	}
	return 0;
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct model *self = data;

	self->end = *end;
	self->has_end = true;
	if (end->ticks > self->last_ticks)
		self->last_ticks = end->ticks;
	return model_finish(self) < 0 ? err_memory_for(err, "the model") : 0;
}

static int on_note(void *data, const char *key, const char *value, struct err *err)
{
	struct model *self = data;
	struct model_note note = {arena_copy(&self->arena, key), arena_copy(&self->arena, value)};

	if (!note.key || !note.value || !vec_push(&self->notes, note))
		return err_memory_for(err, "the model");
	return 0;
}

static int on_name(void *data, const struct stream_name *name, struct err *err)
{
	struct model *self = data;
	const char *text = arena_copy(&self->arena, name->text ? name->text : "");

	if (name->id >= HW_NAMES)
		return 0; /* damaged: its marks have no name */
	if (!text || !vec_extend(&self->names, (u64)name->id + 1))
		return err_memory_for(err, "the model");
	self->names.data[name->id] = text;
	return 0;
}

struct stream_sink model_sink(struct model *self)
{
	return (struct stream_sink){
		.self = self,
		.image = on_image,
		.module = on_module,
		.thread = on_thread,
		.contexts = on_contexts,
		.events = model_fill_events,
		.clock = on_clock,
		.usage = on_usage,
		.memory = on_memory,
		.aggregates = model_fill_aggregates,
		.scan = on_scan,
		.graph = model_fill_graph,
		.accesses = model_fill_accesses,
		.types = model_fill_types,
		.image_end = on_image_end,
		.note = on_note,
		.name = on_name,
	};
}

static void end_live_chunks(struct model *self, enum chunk_end end)
{
	for (u64 i = 0; i < self->chunks.pages.count; i++) {
		struct chunk_page *page = self->chunks.pages.data[i];

		if (self->store && i % 64 == 0)
			column_store_trim(self->store);
		for (u32 k = 0; page && k < CHUNK_PAGE; k++)
			if (page->end[k] == CHUNK_LIVE)
				page->end[k] = (u8)end;
	}
}

/* What lives on has ended, too, for who follows. Whatever goes wrong is told to him. */
static void end_followed(struct model *self)
{
	struct err err = {0};

	if (self->follower->time(self->follower->self, UINT64_MAX, &err) < 0)
		return;
	EACH_CHUNK (chunk, self, .kept = true)
		if (!self->follower || self->follower->ended(self->follower->self, chunk.page,
							     chunk.at, chunk.number, &err) < 0)
			return;
}

int model_finish(struct model *self)
{
	if (self->finished)
		return 0;
	self->finished = true;
	timeline_put(&self->timeline, self->last_ticks, self->totals.live_bytes,
		     model_count(self, self->totals.live_chunks), false);
	for (u64 i = 0; i < self->points.count; i++)
		point_remember_peak(&self->points.data[i], self->totals.peak_number);
	if (self->has_end || model_is_collected(self))
		end_live_chunks(self, model_keeps_nothing(self) ? CHUNK_EXEC : CHUNK_KEPT);
	if (self->follower)
		end_followed(self);
	return (self->forgets && !model_forget_ended(self)) || !model_sum_types(self) ? ERR_MEMORY
										      : 0;
}

int model_read(struct model *self, struct trace_reader *reader,
	       const struct trace_read_options *options, struct err *err)
{
	struct stream_sink sink = model_sink(self);
	int status;

	sink.graph = NULL; /* few want them */
	status = trace_read(reader, options, &sink, err);
	if (status == 0 && self->has_image && model_finish(self) < 0)
		status = err_memory_for(err, "the model");
	return status;
}

int model_load(struct model *self, const char *path, const struct trace_read_options *options,
	       struct trace_info *info, struct err *err)
{
	struct trace_reader *reader = trace_open(path, err);
	int status;

	if (!reader)
		return err && err->code < 0 ? err->code : ERR_INPUT;
	status = model_read(self, reader, options, err);
	if (info)
		*info = *trace_info(reader);
	trace_close(reader);
	if (status < 0)
		return status;
	if (!self->has_image)
		return err_set(err, ERR_INPUT, "%s contains no readable recording", path);
	return model_load_type_names(self, path, err);
}

u64 model_calls(const struct model *self, const char *call)
{
	u64 units = 0;

	for (u32 kind = 0; kind < HW_KIND_COUNT; kind++) {
		const char *name = kind_call(kind);

		/* A realloc of a live block is two events and one call: the block that it
		 * returned. */
		if (kind != HW_REALLOC_FREE && name && strcmp(name, call) == 0)
			units += self->kinds[kind];
	}
	if (strcmp(call, "realloc") == 0)
		units += self->realloc_frees_alone;
	return model_count(self, units);
}

int model_place(const struct model *self, u32 context, struct frame_id *frame, struct err *err)
{
	return context_table_place((struct context_table *)&self->contexts, context, frame, err);
}

u8 model_chunk_class(const struct model *self, u64 chunk)
{
	const struct chunk_page *page =
		chunk < self->chunks.count ? chunk_at(&self->chunks, chunk) : NULL;
	u8 known = page ? page->chunk_class[chunk % CHUNK_PAGE] : CLASS_UNKNOWN;

	return known <= CLASS_LOST ? known : CLASS_UNKNOWN;
}

bool model_chunk_access(const struct model *self, u64 chunk, struct chunk_access *access)
{
	return access_table_get(&self->accesses, chunk, access);
}

const struct point_map *model_point_map(const struct model *self, struct point_id point)
{
	u32 number = self->points.data[point.index].map;
	const struct point_map *map = number ? &self->maps.data[number - 1] : NULL;

	return map && map->size ? map : NULL;
}

u64 model_duration_ns(const struct model *self)
{
	return tick_clock_ns(&self->clock, self->last_ticks);
}

const char *model_note(const struct model *self, const char *key)
{
	for (u64 i = self->notes.count; i-- > 0;) /* the last one is right */
		if (strcmp(self->notes.data[i].key, key) == 0)
			return self->notes.data[i].value;
	return "";
}

static int by_size(const void *a, const void *b)
{
	return rising(((const struct model_size *)a)->size, ((const struct model_size *)b)->size);
}

struct model_size *model_sizes_sorted(const struct model *self, u64 *count)
{
	struct model_size *sorted = malloc((self->sizes.count + 1) * sizeof *sorted);

	*count = 0;
	for (u64 i = 0; sorted && i < self->sizes.count; i++)
		if (self->sizes.data[i].units)
			sorted[(*count)++] = self->sizes.data[i];
	if (*count)
		qsort(sorted, *count, sizeof *sorted, by_size);
	return sorted;
}
