/* SPDX-License-Identifier: MIT
 * Chunks → allocation objects.
 * Host. Stacks are judged once per context; then one pass over the chunks. */
#include "study/analysis/emad/objects.h"

#include "host/base/keyed.h"
#include "study/analysis/places/group.h"

/* ---- whom a stack is attributed to ---- */

enum { WRAPS_ALLOCATION = 1, WRAPS_FREE = 2 };

struct attribution {
	u32 call; /* 0 = nobody is known */
	struct function_id via;
};

/* Names are judged once for each function, not for each stack. */
static int judge_functions(struct object_table *self, const struct wrappers *wrappers)
{
	for (u64 i = 0; i < self->calls.functions.count; i++) {
		const char *name = self->calls.functions.data[i].name;
		u8 wraps = (u8)((wrappers_allocates(wrappers, name) ? WRAPS_ALLOCATION : 0) |
				(wrappers_frees(wrappers, name) ? WRAPS_FREE : 0));

		if (!vec_push(&self->wraps, wraps))
			return ERR_MEMORY;
	}
	return 0;
}

/* The innermost call that is no wrapper. If all are wrappers nobody is behind them, and the
 * innermost it is. */
static struct attribution attribute(const struct object_table *self, u32 innermost, u8 wraps)
{
	struct attribution found = {.call = innermost, .via = {NO_WRAPPER}};

	while (found.call) {
		const struct mprof_call *call = &self->calls.calls.data[found.call];

		if (!(self->wraps.data[call->function.index] & wraps))
			return found;
		found.via = call->function;
		found.call = call->caller;
	}
	return (struct attribution){.call = innermost, .via = {NO_WRAPPER}};
}

/* Contexts that only free have no frames before somebody asks. */
static int place_frees(struct object_table *self)
{
	EACH_CHUNK (chunk, self->source->model) {
		u32 context = chunk.page->free_context[chunk.at];
		struct frame_id frame;

		if (!chunk_is_freed(&chunk) || context >= self->free_functions.count ||
		    self->free_functions.data[context])
			continue;
		if (model_place(chunk.model, context, &frame, NULL) < 0)
			return ERR_MEMORY;
		self->free_functions.data[context] = frame.index + 1;
	}
	return 0;
}

/* From frames, which place_frees has noted, to destroyers. */
static void judge_frees(struct object_table *self)
{
	for (u64 i = 0; i < self->free_functions.count; i++) {
		u32 frame = self->free_functions.data[i];
		struct attribution found = {.via = {NO_WRAPPER}};

		if (frame > 1)
			found = attribute(self, self->calls.frame_calls.data[frame - 1],
					  WRAPS_FREE);
		self->free_functions.data[i] =
			found.call ? self->calls.calls.data[found.call].function.index + 1 : 0;
		self->freed_via.data[i] = found.via.index;
	}
}

static int judge_allocations(struct object_table *self)
{
	for (u64 i = 0; i < self->calls.points.count; i++) {
		struct attribution found =
			attribute(self, self->calls.points.data[i].call, WRAPS_ALLOCATION);

		if (!vec_push(&self->alloc_calls, found.call) ||
		    !vec_push(&self->alloc_via, found.via.index))
			return ERR_MEMORY;
	}
	return 0;
}

/* ---- objects ---- */

struct object_key {
	u64 size;
	u32 caller, destroyer;
};

static struct object_key key_of(const struct object_table *self, const struct chunk *chunk,
				struct point_id *point)
{
	const struct chunk_page *page = chunk->page;
	u32 context = page->free_context[chunk->at], destroyer = 0;

	*point = chunk_point(chunk);
	if (context < self->free_functions.count)
		destroyer = self->free_functions.data[context];
	return (struct object_key){
		.size = self->by_caller ? 0 : page->size[chunk->at],
		.caller =
			self->calls.calls.data[self->alloc_calls.data[point->index]].function.index,
		.destroyer = !chunk_is_freed(chunk) ? NEVER_FREED
			     : destroyer            ? destroyer - 1
						    : FREE_NOT_SEEN};
}

static bool is_object(const struct object_table *self, const struct alloc_object *object,
		      const struct object_key *key)
{
	return (self->by_caller || object->size == key->size) &&
	       object->caller.index == key->caller && object->destroyer.index == key->destroyer;
}

static u64 key_hash(const struct object_key *key)
{
	return hash_u64(hash_u64(key->size + 1) ^
			((u64)key->caller << 32 | (key->destroyer + 2)) * 0x9e3779b97f4a7c15ull);
}

static struct alloc_object *object_at(struct object_table *self, const struct object_key *key)
{
	for (u64 hash = key_hash(key);; hash = hash_u64(hash + 1)) {
		struct alloc_object *object =
			vec_at_key(&self->rows, &self->by_hash, hash,
				   (struct alloc_object){.size = key->size,
							 .caller = {key->caller},
							 .destroyer = {key->destroyer}});

		if (!object || is_object(self, object, key))
			return object;
	}
}

/* One caller may allocate, and free, through several wrappers: main has a vector and a map. */
static bool count_wrapper(struct map *others, u64 object, struct wrapper_use *use, u32 wrapper,
			  u64 units)
{
	u64 *sum = use->function.index == wrapper ? &use->units
						  : map_at(others, object << 32 | wrapper);

	if (sum)
		*sum += units;
	return sum;
}

static int count_wrappers(struct object_table *self, struct alloc_object *object, u32 via,
			  u32 freed_via, u64 units)
{
	u64 index = (u64)(object - self->rows.data);

	if (object->units == 0) {
		object->via.function.index = via;
		object->freed_via.function.index = freed_via;
	}
	return count_wrapper(&self->other_via, index, &object->via, via, units) &&
			       count_wrapper(&self->other_freed_via, index, &object->freed_via,
					     freed_via, units)
		       ? 0
		       : ERR_MEMORY;
}

/* Of several wrappers the one with the most chunks is named. */
static void settle_wrappers(struct object_table *self, const struct map *others, bool freed)
{
	for (u64 at = 0, key, units; map_next(others, &at, &key, &units);) {
		struct alloc_object *object = &self->rows.data[key >> 32];
		struct wrapper_use *use = freed ? &object->freed_via : &object->via;

		if (units > use->units)
			*use = (struct wrapper_use){{(u32)key}, units};
	}
}

static void settle_sizes(struct object_table *self)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		struct alloc_object *object = &self->rows.data[i];

		if (object->least != object->most)
			object->size = (u64)(object->bytes / (double)object->units + 0.5);
		else
			object->size = object->least;
	}
}

static int add_chunk(struct object_table *self, const struct chunk *chunk)
{
	u64 size = chunk->page->size[chunk->at], units, bytes,
	    born = chunk->page->alloc_ticks[chunk->at], died = chunk->page->free_ticks[chunk->at];
	struct point_id point;
	u32 context = chunk->page->free_context[chunk->at];
	struct object_key key = key_of(self, chunk, &point);
	struct alloc_object *object = object_at(self, &key);

	if (!object)
		return ERR_MEMORY;
	model_weigh(chunk->model, size, &units, &bytes);
	if (count_wrappers(self, object, self->alloc_via.data[point.index],
			   key.destroyer < FREE_NOT_SEEN ? self->freed_via.data[context]
							 : NO_WRAPPER,
			   units) < 0)
		return ERR_MEMORY;
	if (object->units == 0) {
		object->first_ticks = born;
		object->least = object->most = size;
		object->kind = chunk->page->kind[chunk->at];
		object->first_call = self->alloc_calls.data[point.index];
	}
	object->units += units;
	object->bytes += (double)size * (double)units;
	if (size < object->least)
		object->least = size;
	if (size > object->most)
		object->most = size;
	if (born < object->first_ticks)
		object->first_ticks = born;
	if (key.destroyer != NEVER_FREED && died > object->last_ticks)
		object->last_ticks = died;
	/* Stamps of two threads may be out of order by a little. */
	if (key.destroyer != NEVER_FREED && died > born)
		object->life_ticks += (double)(died - born) * (double)units;
	self->frees_without_stack += key.destroyer == FREE_NOT_SEEN;
	return 0;
}

static int add_chunks(struct object_table *self)
{
	EACH_CHUNK (chunk, self->source->model)
		if (add_chunk(self, &chunk) < 0)
			return ERR_MEMORY;
	return 0;
}

int objects_find(struct object_table *self, const struct stack_source *source,
		 const struct wrappers *wrappers, struct err *err)
{
	const struct model *model = source->model;
	int status = 0;

	self->source = source;
	if (!vec_extend(&self->free_functions, model->contexts.nodes.count) ||
	    !vec_extend(&self->freed_via, model->contexts.nodes.count) || place_frees(self) < 0)
		return err_memory_for(err, "allocation objects");
	status = mprof_calls_read(&self->calls, source, err);
	if (status < 0)
		return status;
	if (judge_functions(self, wrappers) == 0) {
		judge_frees(self);
		if (judge_allocations(self) == 0 && add_chunks(self) == 0) {
			settle_wrappers(self, &self->other_via, false);
			settle_wrappers(self, &self->other_freed_via, true);
			settle_sizes(self);
			return 0;
		}
	}
	return err_memory_for(err, "allocation objects");
}

u32 objects_of_chunk(const struct object_table *self, const struct chunk *chunk, u32 *call)
{
	struct point_id point;
	struct object_key key = key_of(self, chunk, &point);

	*call = self->alloc_calls.data[point.index];
	for (u64 hash = key_hash(&key);; hash = hash_u64(hash + 1)) {
		const u64 *index = map_find(&self->by_hash, hash);

		if (!index)
			return UINT32_MAX;
		if (is_object(self, &self->rows.data[*index - 1], &key))
			return (u32)(*index - 1);
	}
}

double object_frequency(const struct object_table *self, const struct alloc_object *object)
{
	return (double)object->units / (double)(1ull << self->source->model->count_shift);
}

double object_life_ns(const struct object_table *self, const struct alloc_object *object)
{
	if (!object->units)
		return 0;
	return tick_clock_span_ns(&self->source->model->clock,
				  object->life_ticks / (double)object->units);
}

double object_span_ns(const struct object_table *self, const struct alloc_object *object)
{
	if (object->last_ticks <= object->first_ticks)
		return 0;
	return tick_clock_span_ns(&self->source->model->clock,
				  (double)(object->last_ticks - object->first_ticks));
}

const char *object_routine(const struct object_table *self, struct function_id function)
{
	if (function.index == NEVER_FREED)
		return "(never freed)";
	if (function.index == FREE_NOT_SEEN)
		return "(not recorded)";
	return mprof_function(&self->calls, function)->name;
}

void objects_release(struct object_table *self)
{
	mprof_calls_release(&self->calls);
	vec_release(&self->rows);
	vec_release(&self->wraps);
	vec_release(&self->alloc_calls);
	vec_release(&self->alloc_via);
	vec_release(&self->free_functions);
	vec_release(&self->freed_via);
	map_release(&self->by_hash);
	map_release(&self->other_via);
	map_release(&self->other_freed_via);
}
