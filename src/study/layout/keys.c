/* SPDX-License-Identifier: MIT
 * Keys of chunks, and their labels.
 * Host. */
#include "study/layout/keys.h"

#include <stdio.h>
#include <string.h>

#include "study/analysis/findings/findings.h"
#include "host/base/units.h"
#include "study/layout/slots.h"
#include "study/model/each.h"

const char *view_point_module(const struct study *trace, struct point_id point)
{
	struct finding_place place =
		finding_own(&trace->stacks, trace->model->points.data[point.index].frame);
	const char *slash = strrchr(place.own.module, '/');

	return slash ? slash + 1 : place.own.module;
}

static const char *printed(struct arena *arena, const char *format, u64 number)
{
	char text[64];

	snprintf(text, sizeof text, format, (unsigned long long)number);
	return arena_copy(arena, text);
}

static bool add_key(struct view_keys *self, const char *label, u64 number)
{
	return vec_push(&self->keys, (struct view_key){.label = label, .number = number});
}

/* A key per different label. */
static u32 key_by_label(struct view_keys *self, struct map *by_label, const char *label)
{
	u64 hash = hash_text(HASH_START, label);

	for (;; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(by_label, hash);

		if (!index)
			return UINT32_MAX;
		if (*index == 0) {
			struct view_key key = {.label = arena_copy(&self->arena, label)};

			if (!key.label || !vec_push(&self->keys, key))
				return UINT32_MAX;
			*index = self->keys.count;
		}
		if (strcmp(self->keys.data[*index - 1].label, label) == 0)
			return (u32)*index - 1;
	}
}

static const char *function_label(const struct study *trace, struct point_id point)
{
	struct finding_place place =
		finding_own(&trace->stacks, trace->model->points.data[point.index].frame);

	return *place.own.function ? place.own.function : "(unknown)";
}

/* What has no name is where its code is, as the terminal prints it. */
static const char *code_label(struct view_keys *self, const struct study *trace,
			      struct point_id point)
{
	struct finding_place place =
		finding_own(&trace->stacks, trace->model->points.data[point.index].frame);
	char text[512];

	if (*place.own.function)
		return place.own.function;
	if (!*place.own.module)
		return "(unknown)";
	snprintf(text, sizeof text, "%.400s+0x%llx", view_point_module(trace, point),
		 (unsigned long long)place.own.offset);
	return arena_copy(&self->arena, text);
}

static const char *point_label(struct view_keys *self, const struct study *trace,
			       struct point_id point)
{
	const char *label;

	if (self->by == BY_MODULE) {
		label = view_point_module(trace, point);
		return *label ? label : "(unknown)";
	}
	if (self->by == BY_FN)
		return code_label(self, trace, point);
	label = trace->point_types[point.index].name;
	return label ? label : "(unknown)";
}

/* What chunks have whose points allocate several types. */
static int add_varying(struct view_keys *self, struct study *trace, struct map *by_label)
{
	const struct model *model = trace->model;
	u64 peak = model->totals.peak_ticks, units, bytes, varying = 0;

	self->types = &trace->types;
	for (u32 i = 0; i < model->points.count; i++) {
		varying += trace->point_types[i].varies;
		if (trace->point_types[i].varies)
			self->of_point[i] = VIEW_VARIES;
	}
	if (!varying)
		return 0;
	EACH_CHUNK (chunk, model) {
		u64 born = chunk.page->alloc_ticks[chunk.at],
		    died = chunk.page->free_ticks[chunk.at];
		const char *name;
		u64 *known;
		u32 key;

		if (self->of_point[chunk_point(&chunk).index] != VIEW_VARIES)
			continue;
		name = type_of_chunk(self->types, chunk.number).name;
		known = map_at(&self->by_type, (u64)(uintptr_t)name);
		if (known && !*known)
			*known = (u64)key_by_label(self, by_label, name ?: "(unknown)") + 1;
		if (!known || *known > UINT32_MAX)
			return ERR_MEMORY;
		key = (u32)*known - 1;
		model_weigh(model, chunk.page->size[chunk.at], &units, &bytes);
		if (born <= peak && (!died || died > peak)) {
			self->keys.data[key].peak_bytes += bytes;
			self->keys.data[key].at_peak_bytes += bytes;
		}
	}
	return 0;
}

u32 view_key_of_type(const struct view_keys *self, u64 chunk)
{
	const char *name = type_of_chunk(self->types, chunk).name;
	const u64 *key = map_find(&self->by_type, (u64)(uintptr_t)name);

	return key ? (u32)*key - 1 : 0;
}

static int make_labelled(struct view_keys *self, struct study *trace)
{
	struct map by_label = {0};
	int status = 0;

	for (u32 i = 0; i < trace->model->points.count && status == 0; i++) {
		const char *label = point_label(self, trace, (struct point_id){i});

		self->of_point[i] = label ? key_by_label(self, &by_label, label) : UINT32_MAX;
		status = self->of_point[i] == UINT32_MAX ? ERR_MEMORY : 0;
	}
	if (status == 0 && self->by == BY_TYPE)
		status = add_varying(self, trace, &by_label);
	map_release(&by_label);
	return status;
}

static int make_of_points(struct view_keys *self, struct study *trace)
{
	for (u32 i = 0; i < trace->model->points.count; i++) {
		self->of_point[i] = i;
		if (!add_key(self, function_label(trace, (struct point_id){i}), i))
			return ERR_MEMORY;
	}
	return 0;
}

static int make_of_severity(struct view_keys *self, struct study *trace)
{
	for (u64 i = 0; i <= SEVERITY_STEPS; i++)
		if (!add_key(self, i ? printed(&self->arena, "severity %llu", i) : "(unknown)", i))
			return ERR_MEMORY;
	for (u32 i = 0; i < trace->model->points.count; i++)
		self->of_point[i] = trace->severity[i];
	return 0;
}

static int make_of_threads(struct view_keys *self, const struct model *model)
{
	for (u64 i = 0; i < model->threads.count; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		char label[64];

		snprintf(label, sizeof label, "%u %.15s", thread->tid, thread->name);
		if (!add_key(self, arena_copy(&self->arena, label), i))
			return ERR_MEMORY;
	}
	return self->keys.count || add_key(self, "(unknown)", 0) ? 0 : ERR_MEMORY;
}

/* Sizes from a power of two to before the next; 0 apart. */
static int make_of_sizes(struct view_keys *self)
{
	for (u32 i = 0; i <= 64; i++) {
		u64 low = i ? 1ull << (i - 1) : 0;
		char label[96] = "0 B";

		if (i)
			snprintf(label, sizeof label, "%s to %s", units_bytes(low).text,
				 units_bytes(low - 1 + low).text);
		if (!add_key(self, arena_copy(&self->arena, label), low))
			return ERR_MEMORY;
	}
	return 0;
}

static int make(struct view_keys *self, struct study *trace)
{
	switch (self->by) {
	case BY_TYPE:
	case BY_MODULE:
	case BY_FN: return make_labelled(self, trace);
	case BY_POINT: return make_of_points(self, trace);
	case BY_SEV: return make_of_severity(self, trace);
	case BY_THREAD: return make_of_threads(self, trace->model);
	case BY_SIZE: return make_of_sizes(self);
	case BY_NONE:
	case BY_COLOR:
	case VIEW_BYS: break;
	}
	return add_key(self, "all", 0) ? 0 : ERR_MEMORY;
}

static int fill(struct view_keys *self, struct study *trace, struct err *err)
{
	bool of_points = self->by == BY_TYPE || self->by == BY_MODULE || self->by == BY_POINT ||
			 self->by == BY_SEV || self->by == BY_FN;

	if ((self->by == BY_TYPE && study_types(trace, err) < 0) ||
	    (self->by == BY_SEV && study_scores(trace, err) < 0))
		return err->code;
	if (of_points)
		self->of_point = calloc(trace->model->points.count + 1, sizeof *self->of_point);
	if ((of_points && !self->of_point) || make(self, trace) < 0)
		return err_memory_for(err, "the series");
	for (u32 i = 0; of_points && i < trace->model->points.count; i++) {
		const struct model_point *point = &trace->model->points.data[i];

		if (self->of_point[i] == VIEW_VARIES)
			continue;
		self->keys.data[self->of_point[i]].peak_bytes += point->peak_bytes;
		self->keys.data[self->of_point[i]].at_peak_bytes += point->at_peak_bytes;
	}
	return 0;
}

static void keys_free(void *self_)
{
	struct view_keys *self = self_;

	vec_release(&self->keys);
	map_release(&self->by_type);
	free(self->of_point);
	arena_release(&self->arena);
	free(self);
}

static void *keys_make(struct study *trace, u32 slot, struct err *err)
{
	struct view_keys *self = calloc(1, sizeof *self);

	if (!self) {
		err_memory_for(err, "the series");
		return NULL;
	}
	self->by = (enum view_by)(slot - SLOT_KEYS);
	if (fill(self, trace, err) == 0)
		return self;
	keys_free(self);
	return NULL;
}

_Static_assert((int)VIEW_BYS <= SLOT_SUGGEST - SLOT_KEYS, "one slot for each way to group");
const struct view_keys *view_keys(struct study *trace, enum view_by by, struct err *err)
{
	return study_slot(trace, SLOT_KEYS + by, keys_make, keys_free, err);
}

/* ---- colours ---- */

static bool colors_fill(struct view_colors *self)
{
	self->keys.by = BY_COLOR;
	self->keys.of_chunk = self->query.by_chunk;
	if (!add_key(&self->keys, "(no colour)", 0))
		return false;
	for (u32 i = 0; i < self->query.count; i++) {
		char label[16];
		const char *kept;

		snprintf(label, sizeof label, "#%06x", self->query.palette[i] & 0xffffff);
		kept = arena_copy(&self->keys.arena, label);
		if (!kept || !add_key(&self->keys, kept, self->query.palette[i]))
			return false;
	}
	return true;
}

int view_scope_add_colors(struct view_scope *self, const char *text, struct query_error *error)
{
	struct view_colors *colors;
	int status = 0;

	if (self->colors)
		return 0;
	colors = calloc(1, sizeof *colors);
	if (colors && text)
		status = query_find_colors(self->trace->engine, text, &self->window, &colors->query,
					   error);
	if (status == 0 && (!colors || !colors_fill(colors))) {
		*error = (struct query_error){.code = ERR_MEMORY, .message = "out of memory"};
		status = ERR_MEMORY;
	}
	if (status == 0)
		self->colors = colors;
	else
		view_colors_free(colors);
	return status;
}

const struct view_keys *view_scope_keys(const struct view_scope *scope, enum view_by by,
					struct err *err)
{
	if (by != BY_COLOR)
		return view_keys(scope->trace, by, err);
	if (!scope->colors)
		err_set(err, ERR_USAGE, "colours were not requested");
	return scope->colors ? &scope->colors->keys : NULL;
}
