/* SPDX-License-Identifier: MIT
 * Address and generation → module: a sorted index over the modules that were told.
 * Runs on the host. Never reads a module's file, never trusts an id or a range that it was told. */
#include "host/trace/modmap.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/search.h"

/* Bounds on ids from a file, so that one bad number cannot ask for all memory. */
enum { MODULES_MAX = 1 << 20, CONTEXTS_MAX = 1 << 28 };

/* Modules that start at the same address, order[first] … order[first + count - 1], by generation.
 * reach is the largest end of this and all earlier spans: no module of theirs covers reach. */
struct modmap_span {
	u64 start;
	u64 reach;
	u32 first;
	u32 count;
};

/* Room for index in an array of `size`-byte elements, new ones zeroed. */
static int array_reach(void **array, u32 *room, u32 index, size_t size)
{
	u64 want = *room ? *room : 64;
	void *grown;

	if (index < *room)
		return 0;
	while (want <= index)
		want *= 2;
	grown = realloc(*array, want * size);
	if (!grown)
		return ERR_MEMORY;
	memset((char *)grown + *room * size, 0, (want - *room) * size);
	*array = grown;
	*room = (u32)want;
	return 0;
}

static int module_copy(struct modmap_module *copy, const struct stream_module *module)
{
	const char *path = module->path ? module->path : "";
	u32 build_id_bytes = module->build_id ? module->build_id_bytes : 0;

	copy->path = strdup(path);
	copy->build_id = malloc(build_id_bytes + 1);
	if (!copy->path || !copy->build_id) {
		free(copy->path);
		free(copy->build_id);
		*copy = (struct modmap_module){0};
		return ERR_MEMORY;
	}
	if (build_id_bytes)
		memcpy(copy->build_id, module->build_id, build_id_bytes);
	copy->build_id_bytes = build_id_bytes;
	copy->id = module->id;
	copy->generation = module->generation;
	copy->gone_in = MODMAP_NO_GENERATION;
	copy->base = module->base;
	copy->start = module->start;
	copy->end = module->end;
	copy->loaded_ticks = module->loaded_ticks;
	copy->unloaded_ticks = module->unloaded_ticks;
	copy->told = true;
	return 0;
}

int modmap_tell(struct modmap *self, const struct stream_module *module, struct err *err)
{
	struct modmap_module *known;

	if (module->id >= MODULES_MAX)
		return err_set(err, ERR_INPUT, "module number %u is out of range", module->id);
	if (array_reach((void **)&self->modules, &self->module_room, module->id,
			sizeof(*self->modules)))
		return err_memory_for(err, "module number %u", module->id);
	known = &self->modules[module->id];
	self->era_start = self->era_end = 0;
	if (known->told) {
		known->unloaded_ticks = module->unloaded_ticks;
		return 0;
	}
	if (module_copy(known, module))
		return err_memory_for(err, "module number %u", module->id);
	if (module->id >= self->module_count)
		self->module_count = module->id + 1;
	self->dirty = true;
	return 0;
}

bool context_is_frame(const struct stream_context *context)
{
	if (context->flags & HW_NODE_CUT)
		return false;
	return context->parent != 0 || context->pc >= HW_GENERATION_LIMIT;
}

/* A cut mark has a small pc too, but stands for frames, not for a generation of its own. */
static u32 context_generation(const struct modmap *self, const struct stream_context *context)
{
	if (context->parent)
		return modmap_generation(self, context->parent);
	if (context->flags & HW_NODE_CUT)
		return 0;
	return context->pc < HW_GENERATION_LIMIT ? (u32)context->pc : 0;
}

int modmap_tell_contexts(struct modmap *self, const struct stream_context *contexts, u64 count,
			 struct err *err)
{
	_Static_assert(HW_GENERATION_LIMIT <= 65536, "generations are kept in 16 bits");

	for (u64 i = 0; i < count; i++) {
		u32 id = contexts[i].id;

		if (id >= CONTEXTS_MAX)
			return err_set(err, ERR_INPUT, "context number %u is out of range", id);
		if (array_reach((void **)&self->generations, &self->context_room, id,
				sizeof(*self->generations)))
			return err_memory_for(err, "%u contexts", id);
		self->generations[id] = (u16)context_generation(self, &contexts[i]);
		if (id >= self->context_count)
			self->context_count = id + 1;
	}
	return 0;
}

void modmap_release(struct modmap *self)
{
	for (u32 i = 0; i < self->module_count; i++) {
		free(self->modules[i].path);
		free(self->modules[i].build_id);
	}
	free(self->modules);
	free(self->generations);
	free(self->order);
	free(self->spans);
	*self = (struct modmap){0};
}

const struct modmap_module *modmap_module(const struct modmap *self, u32 id)
{
	return id < self->module_count && self->modules[id].told ? &self->modules[id] : NULL;
}

u32 modmap_generation(const struct modmap *self, u32 context)
{
	return context < self->context_count ? self->generations[context] : 0;
}

u32 modmap_generation_at(struct modmap *self, u64 ticks)
{
	if (likely(ticks >= self->era_start && ticks < self->era_end))
		return self->era;
	self->era = 0;
	self->era_start = 0;
	self->era_end = UINT64_MAX;
	for (u32 i = 0; i < self->module_count; i++) {
		const struct modmap_module *module = &self->modules[i];

		if (!module->told || module->generation == 0)
			continue; /* the first generation has no beginning */
		if (module->loaded_ticks > ticks && module->loaded_ticks < self->era_end)
			self->era_end = module->loaded_ticks;
		if (module->loaded_ticks > ticks)
			continue;
		if (module->loaded_ticks > self->era_start)
			self->era_start = module->loaded_ticks;
		if (module->generation > self->era)
			self->era = module->generation;
	}
	return self->era;
}

/* Order of appearance: the generation, then the order of telling. */
static int compare_age(const void *a, const void *b)
{
	const struct modmap_module *x = *(struct modmap_module *const *)a;
	const struct modmap_module *y = *(struct modmap_module *const *)b;

	return rising(x->generation, y->generation) ?: rising(x->id, y->id);
}

static int compare_start(const void *a, const void *b)
{
	const struct modmap_module *x = *(struct modmap_module *const *)a;
	const struct modmap_module *y = *(struct modmap_module *const *)b;

	return rising(x->start, y->start) ?: compare_age(a, b);
}

/* First of the disjoint modules live[0 … count) that ends after address. */
static u32 live_after(struct modmap_module *const *live, u32 count, u64 address)
{
	return (u32)bisect(at, count, live[at]->end <= address);
}

/* A module that appears where others were means that all of those are gone, also their parts that
 * it does not cover. Walks the modules by age with the disjoint set of those that are there. */
static int mark_gone(struct modmap_module *const *by_age, u32 count)
{
	struct modmap_module **live = malloc(((size_t)count + 1) * sizeof(*live));
	u32 live_count = 0;

	if (!live)
		return ERR_MEMORY;
	for (u32 i = 0; i < count; i++) {
		struct modmap_module *new = by_age[i];
		u32 first = live_after(live, live_count, new->start);
		u32 last = first;

		for (; last < live_count && live[last]->start < new->end; last++)
			live[last]->gone_in = new->generation;
		memmove(&live[first + 1], &live[last], (live_count - last) * sizeof(*live));
		live[first] = new;
		live_count += 1 - (last - first);
	}
	free(live);
	return 0;
}

static void build_spans(struct modmap *self, u32 count)
{
	struct modmap_span *span = self->spans;
	u64 reach = 0;

	for (u32 i = 0; i < count; i++) {
		const struct modmap_module *module = self->order[i];

		if (!i || span[-1].start != module->start)
			*span++ = (struct modmap_span){.start = module->start, .first = i};
		if (module->end > reach)
			reach = module->end;
		span[-1].reach = reach;
		span[-1].count++;
	}
	self->span_count = (u32)(span - self->spans);
}

static int build_index(struct modmap *self)
{
	u32 count = 0;

	free(self->order);
	free(self->spans);
	self->span_count = 0;
	self->order = malloc(((size_t)self->module_count + 1) * sizeof(*self->order));
	self->spans = malloc(((size_t)self->module_count + 1) * sizeof(*self->spans));
	if (!self->order || !self->spans)
		return ERR_MEMORY;
	for (u32 i = 0; i < self->module_count; i++) {
		struct modmap_module *module = &self->modules[i];

		module->gone_in = MODMAP_NO_GENERATION;
		if (module->told && module->start < module->end)
			self->order[count++] = module;
	}
	qsort(self->order, count, sizeof(*self->order), compare_age);
	if (mark_gone(self->order, count))
		return ERR_MEMORY;
	qsort(self->order, count, sizeof(*self->order), compare_start);
	build_spans(self, count);
	self->dirty = false;
	return 0;
}

/* Modules of one span replace each other: only the last one that the generation has seen lives. */
static const struct modmap_module *
span_find(const struct modmap *self, const struct modmap_span *span, u64 address, u32 generation)
{
	struct modmap_module *const *order = &self->order[span->first];
	u64 seen = bisect(at, span->count, order[at]->generation <= generation);
	const struct modmap_module *module;

	if (!seen)
		return NULL;
	module = order[seen - 1];
	return address < module->end && generation < module->gone_in ? module : NULL;
}

const struct modmap_module *modmap_find(struct modmap *self, u64 address, u32 generation)
{
	u64 low;

	if (self->dirty && build_index(self))
		return NULL;
	low = bisect(at, self->span_count, self->spans[at].start <= address);
	while (low-- > 0 && self->spans[low].reach > address) {
		const struct modmap_module *module =
			span_find(self, &self->spans[low], address, generation);

		if (module)
			return module;
	}
	return NULL;
}

const struct modmap_module *modmap_at(const struct modmap *self, u64 address, u64 ticks)
{
	const struct modmap_module *any = NULL;

	for (u32 id = self->module_count; id--;) {
		const struct modmap_module *module = &self->modules[id];

		if (!module->told || address < module->start || address >= module->end)
			continue;
		if (module->loaded_ticks <= ticks &&
		    (!module->unloaded_ticks || module->unloaded_ticks >= ticks))
			return module;
		any = module;
	}
	return any;
}

bool modmap_place(struct modmap *self, const struct stream_context *context,
		  struct modmap_place *place)
{
	u64 address = context->pc - 1;

	if (!context_is_frame(context) || !context->pc)
		return false;
	place->module = modmap_find(self, address, modmap_generation(self, context->id));
	if (!place->module)
		return false;
	place->address = address - place->module->base;
	return true;
}
