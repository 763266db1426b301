/* SPDX-License-Identifier: MIT
 * The cascade of types.
 * Host. What depends only on the stack and the size is found once for each of these. */
#include "study/analysis/typing/types.h"

#include <string.h>

#include "host/base/path.h"
#include "study/analysis/typing/guess.h"
#include "host/symbols/types/frame.h"
#include "host/symbols/types/source.h"
#include "study/model/each.h"

enum {
	/* objects of one class, and no other, that make the class of a point likely */
	SAMPLE_MIN = 4,
	OBJECT_MAX = 1024, /* bytes of objects whose size is not known; beyond are arenas, mostly */
};

const char *type_origin_name(u8 origin)
{
	static const char *const names[TYPE_ORIGINS] = {
		[ORIGIN_NONE] = "unknown",  [ORIGIN_DECLARED] = "declared",
		[ORIGIN_VTABLE] = "vtable", [ORIGIN_FRAME] = "frame",
		[ORIGIN_INDEX] = "index",   [ORIGIN_DWARF] = "dwarf",
		[ORIGIN_LINE] = "line",
	};

	return origin < TYPE_ORIGINS ? names[origin] : names[ORIGIN_NONE];
}

const char *type_confidence_name(u8 confidence)
{
	static const char *const names[] = {"unknown", "guess", "likely", "exact"};

	return names[confidence <= TYPE_EXACT ? confidence : 0];
}

/* ---- one source after the other ---- */

/* Takes an answer over if it is better than the one there: earlier sources win unless they
 * guess. */
static void consider(struct type_answer *best, const struct type_answer *answer)
{
	if (!answer->confidence || (answer->name && !*answer->name))
		return;
	if (!best->confidence ||
	    (best->confidence == TYPE_GUESS && answer->confidence > TYPE_GUESS))
		*best = *answer;
}

static struct type_answer ask_index(struct type_cascade *self, u64 size)
{
	static const u8 confidences[] = {[TYPE_INDEX_EXACT] = TYPE_EXACT,
					 [TYPE_INDEX_LIKELY] = TYPE_LIKELY,
					 [TYPE_INDEX_GUESS] = TYPE_GUESS};
	struct type_index_query query = {.frames = self->stack.data,
					 .frame_count = (u32)self->stack.count,
					 .size_bytes = size};
	struct type_index_answer found;

	if (!type_index_find_stack(self->index, &query, &found))
		return (struct type_answer){0};
	return (struct type_answer){.name = type_keep_readable(self, found.type, ""),
				    .size = found.size,
				    .counted = found.site->how == HOW_COUNTED,
				    .origin = ORIGIN_INDEX,
				    .confidence = confidences[found.confidence]};
}

/* ---- stacks ---- */

static struct type_answer ask_frames(struct type_cascade *self)
{
	struct type_answer answer = {0};
	struct frame_search search = {0};

	for (u64 i = 0; i < self->stack.count || type_stack_more(self); i++) {
		search.c_library = i < self->c_frames;
		if (!frame_search_step(&search, &self->stack.data[i]))
			break;
	}
	if (search.found)
		answer = (struct type_answer){.name = names_keep(&self->names,
								 strbuf_text(&search.type)),
					      .count = search.single,
					      .origin = ORIGIN_FRAME,
					      .confidence = (u8)search.confidence};
	frame_search_release(&search);
	return answer;
}

/* What stands between a new expression and the recorder: an operator new that is the program's
 * own. */
static bool is_operator_new(const struct type_cascade *self, u32 frame)
{
	struct stack_names names = stack_names(self->query.source, (struct frame_id){frame});

	return names.count && strncmp(names.frames[0].function, "operator new", 12) == 0;
}

/* What the compiler wrote beside the call; the number of elements is told by the size. */
static struct type_answer ask_dwarf(struct type_cascade *self, struct point_id point)
{
	const struct model *model = self->query.source->model;
	u32 at = model->points.data[point.index].frame.index;
	const struct call_type *call = NULL;
	const struct frame *frame;

	if (!self->calls.rows.count)
		return (struct type_answer){0};
	while (at && is_operator_new(self, at))
		at = context_table_frame(&model->contexts, (struct frame_id){at})->parent;
	frame = context_table_frame(&model->contexts, (struct frame_id){at});
	if (at && frame->identity != NO_MODULE)
		call = call_types_find(&self->calls,
				       module_list_row(&self->modules, frame->identity),
				       frame->address);
	if (!call)
		return (struct type_answer){0};
	return (struct type_answer){.name = type_keep_readable(self, call->type, ""),
				    .size = call->size,
				    .origin = ORIGIN_DWARF,
				    .confidence = TYPE_EXACT};
}

/* ---- places ---- */

static u64 place_add(struct type_cascade *self, struct type_place place)
{
	if (self->places.count < UINT32_MAX - 1 && vec_push(&self->places, place))
		return self->places.count - 1;
	self->failed = true;
	return UINT64_MAX;
}

/* Looks at the stack of a point once. Most points need no more than that: what a chunk's size has
 * to do with its type is asked only where the stack does not tell. */
static enum type_by find_point(struct type_cascade *self, struct point_id point)
{
	struct type_point *known = &self->points.data[point.index];
	struct type_answer answer, dwarf;
	u64 place;

	type_stack_begin(self, self->query.source->model->points.data[point.index].frame);
	answer = known->frames = ask_frames(self);
	if (answer.confidence <= TYPE_GUESS && self->index)
		return TYPE_BY_BOTH;
	if (answer.confidence <= TYPE_GUESS) {
		dwarf = ask_dwarf(self, point);
		consider(&answer, &dwarf);
	}
	if (!answer.confidence && self->query.guess && type_has_hints(self))
		return TYPE_BY_BOTH;
	place = place_add(self, (struct type_place){point.index, TYPE_ANY_SIZE, answer});
	known->place = (u32)place;
	return place == UINT64_MAX ? TYPE_NOT_ASKED : TYPE_BY_POINT;
}

static enum type_by ask_point(struct type_cascade *self, struct point_id point)
{
	if (unlikely(!self->by.data[point.index]))
		self->by.data[point.index] = (u8)find_point(self, point);
	return (enum type_by)self->by.data[point.index];
}

/* Of a point whose answer depends on the size. */
static struct type_answer ask_place(struct type_cascade *self, struct point_id point, u64 size)
{
	struct type_answer best = {0}, answer;

	consider(&best, &self->points.data[point.index].frames);
	if (self->index) {
		type_read_stack(self, self->query.source->model->points.data[point.index].frame);
		answer = ask_index(self, size);
		consider(&best, &answer);
	}
	if (best.confidence <= TYPE_GUESS) {
		answer = ask_dwarf(self, point);
		consider(&best, &answer);
	}
	return best;
}

/* The place's number, or UINT64_MAX if there is no memory. */
u64 type_place_of(struct type_cascade *self, struct point_id point, u64 size)
{
	enum type_by by = ask_point(self, point);
	struct type_place place = {.point = point.index, .size = size};
	u64 key, *index;

	if (by == TYPE_BY_POINT)
		return self->points.data[point.index].place;
	key = hash_u64(hash_u64((u64)place.point + 1) ^ size);
	index = map_find(&self->by_place, key);
	if (index)
		return *index - 1;
	if (by == TYPE_BY_BOTH)
		place.answer = ask_place(self, point, size);
	size = place_add(self, place);
	self->failed |= size == UINT64_MAX || !map_put(&self->by_place, key, size + 1);
	return self->failed ? UINT64_MAX : size;
}

/* ---- chunks ---- */

static const char *told_name(struct type_cascade *self, u32 type)
{
	const struct model *model = self->query.source->model;

	if (type >= model->types.count || !vec_extend(&self->told, model->types.count))
		return "";
	if (!self->told.data[type])
		self->told.data[type] = type_keep_readable(self, model->types.data[type], "");
	return self->told.data[type];
}

/* A vtable is that of the first object in the chunk, and this may be an arena's. */
static u8 vtable_confidence(const struct type_cascade *self, const struct type_answer *answer,
			    const struct chunk_type *type, u64 size)
{
	u64 object = type_size(self, answer->name);
	bool fits = object ? size == object : size < OBJECT_MAX;

	return fits || type->offset || type->count > 1 ? TYPE_EXACT : TYPE_GUESS;
}

static bool told_type(struct type_cascade *self, const struct type_cell *cell, u64 size,
		      struct type_answer *answer)
{
	struct chunk_type type;

	if (!model_cell_type(self->query.source->model, cell, &type))
		return false;
	*answer = (struct type_answer){.name = told_name(self, type.type),
				       .count = type.count,
				       .origin = type.source,
				       .confidence = TYPE_EXACT};
	if (type.source == TYPE_VTABLE)
		answer->confidence = vtable_confidence(self, answer, &type, size);
	return *answer->name;
}

/* ---- samples ---- */

static void add_sample(struct type_sample *sample, const struct type_answer *answer,
		       const struct model_told *told)
{
	if (!sample->chunks) {
		sample->answer = *answer;
		sample->size = told->size;
	}
	sample->mixed |=
		sample->size != told->size || strcmp(sample->answer.name, answer->name) != 0;
	sample->chunks += told->chunks;
}

/* Only the first objects of a context, and a few of the later ones, are looked into. */
static void fill_samples(struct type_cascade *self)
{
	const struct model *model = self->query.source->model;

	vec_clear(&self->samples);
	if (!model->type_table.chunks[TYPE_VTABLE - TYPE_DECLARED])
		return;
	if (!vec_extend(&self->samples, model->points.count)) {
		self->failed = true;
		return;
	}
	for (u64 i = 0; i < model->told.count; i++) {
		const struct model_told *told = &model->told.data[i];
		struct type_answer answer;

		if (told_type(self, &told->cell, told->size, &answer) &&
		    answer.origin == ORIGIN_VTABLE && answer.confidence > TYPE_GUESS)
			add_sample(&self->samples.data[told->point], &answer, told);
	}
}

/* The class that all of the point's chunks of this size have which were looked into. */
static struct type_answer ask_sample(const struct type_cascade *self, struct point_id point,
				     u64 size)
{
	const struct type_sample *sample =
		point.index < self->samples.count ? &self->samples.data[point.index] : NULL;
	struct type_answer answer = {0};

	if (!sample || !sample->chunks || sample->mixed || sample->size != size)
		return answer;
	answer = sample->answer;
	answer.sampled = true;
	answer.confidence = sample->chunks >= SAMPLE_MIN ? TYPE_LIKELY : TYPE_GUESS;
	return answer;
}

/* ---- answers ---- */

u64 type_elements(const struct type_cascade *self, const struct type_answer *answer, u64 chunk)
{
	enum { NUMBER = 8 }; /* bytes of that of an array of what has a destructor */
	const struct chunk_page *page = chunk_at(&self->query.source->model->chunks, chunk);
	u64 one = answer->size, size = page->size[chunk % CHUNK_PAGE];

	if (answer->count)
		return answer->count;
	if (!one && answer->name)
		one = type_size(self, answer->name);
	if (!one)
		return 0;
	if (page->kind[chunk % CHUNK_PAGE] != HW_NEW_ARRAY || size < NUMBER)
		return size >= one ? size / one : 1;
	if (answer->counted)
		return (size - NUMBER) / one;
	/* with and without a number it is a multiple */
	if (answer->origin != ORIGIN_INDEX && NUMBER % one == 0 &&
	    !source_scalar_size(answer->name) && !strchr(answer->name, '*'))
		return 0;
	return size / one;
}

struct type_answer type_of_chunk(struct type_cascade *self, u64 chunk)
{
	const struct model *model = self->query.source->model;
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);
	u32 at = (u32)(chunk % CHUNK_PAGE);
	struct type_answer answer = {0}, known = {0}, sampled;
	struct point_id point;
	u64 place;

	if (!page ||
	    (told_type(self, type_table_cell(&model->type_table, chunk), page->size[at], &answer) &&
	     answer.confidence > TYPE_GUESS))
		return answer;
	point = model_point_of(model, page->alloc_context[at]);
	place = type_place_of(self, point, page->size[at]);
	if (place != UINT64_MAX)
		known = self->places.data[place].answer;
	if (known.size)
		known.count = type_elements(self, &known, chunk);
	sampled = ask_sample(self, point, page->size[at]);
	/* The stack knows the type of all; a class that others have is better than its guesses. */
	if (known.confidence > TYPE_GUESS)
		consider(&answer, &known);
	consider(&answer, &sampled);
	consider(&answer, &known);
	return answer;
}

static bool same_type(const struct type_answer *a, const struct type_answer *b)
{
	return a->name == b->name || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

/* Origin TYPE_ORIGINS says that they differ. */
void type_join(struct type_answer *type, const struct type_answer *answer)
{
	bool varies = type->varies || (type->met && !same_type(type, answer));

	type->varies = varies;
	type->met = true;
	if (!answer->confidence || type->origin == TYPE_ORIGINS)
		return;
	if (!type->confidence) {
		*type = *answer;
		type->varies = varies;
		type->met = true;
	} else if (!same_type(type, answer)) {
		type->origin = TYPE_ORIGINS;
	} else if (answer->confidence < type->confidence) {
		type->confidence = answer->confidence;
	}
}

void type_settle(struct type_answer *types, u64 count)
{
	for (u64 i = 0; i < count; i++)
		if (types[i].origin == TYPE_ORIGINS)
			types[i] = (struct type_answer){.varies = true};
}

static bool is_told(const struct model *model)
{
	return model->type_table.chunks[0] || model->type_table.chunks[1];
}

bool type_is_told(const struct type_cascade *self)
{
	return is_told(self->query.source->model) || self->samples.count;
}

/* Without guesses a point's stack tells as much as its chunks do, but for what was told of them. */
static void ask_points(struct type_cascade *self, struct type_answer *types)
{
	const struct model *model = self->query.source->model;

	for (u32 i = 0; i < model->points.count; i++) {
		if (types[i].confidence)
			continue;
		types[i] = ask_point(self, (struct point_id){i}) == TYPE_BY_POINT
				   ? self->places.data[self->points.data[i].place].answer
				   : ask_place(self, (struct point_id){i}, 0);
	}
}

/* Points of which nothing but the stack tells need no look at their chunks. */
static bool ask_by_chunk(struct type_cascade *self, struct type_answer *types)
{
	const struct model *model = self->query.source->model;
	bool left = false;

	if (is_told(model))
		return true;
	for (u32 i = 0; i < model->points.count; i++) {
		if (ask_point(self, (struct point_id){i}) == TYPE_BY_POINT)
			types[i] = self->places.data[self->points.data[i].place].answer;
		else
			left = true;
	}
	return left;
}

void type_of_points(struct type_cascade *self, struct type_answer *types)
{
	const struct model *model = self->query.source->model;
	for (u64 i = 0; i < model->told.count && !self->query.guess; i++) {
		const struct model_told *told = &model->told.data[i];
		struct type_answer answer = {0};

		told_type(self, &told->cell, told->size, &answer);
		type_join(&types[told->point], &answer);
	}
	if (self->query.guess && ask_by_chunk(self, types))
		EACH_CHUNK (chunk, model) {
			struct type_answer answer = type_of_chunk(self, chunk.number);

			type_join(&types[chunk_point(&chunk).index], &answer);
		}
	if (!self->query.guess)
		ask_points(self, types);
	type_settle(types, model->points.count);
}

const char *stack_type(const struct stack_source *source, struct frame_id frame)
{
	const struct model *model = source->model;
	u32 point =
		frame.index < model->frame_points.count ? model->frame_points.data[frame.index] : 0;

	return source->types && point && source->types[point - 1].confidence > TYPE_GUESS
		       ? source->types[point - 1].name
		       : NULL;
}

/* ---- life ---- */

static int find_index(struct type_cascade *self, struct err *err)
{
	const char *program = self->query.source->model->image.program;
	struct strbuf path = {0};
	struct err own = {0};

	if (self->query.index) {
		self->index = type_index_load(self->query.index, err);
		return self->index ? 0 : err->code < 0 ? err->code : ERR_INPUT;
	}
	if (program && type_index_locate(program, &path))
		self->index = type_index_load(strbuf_text(&path), &own);
	strbuf_release(&path);
	return 0;
}

/* All that a chunk's answer may come from, so that it is known what is left to guess, and that
 * several threads may ask. */
static void fill_places(struct type_cascade *self)
{
	const struct model *model = self->query.source->model;
	bool left = false;

	for (u32 i = 0; i < model->types.count; i++)
		told_name(self, i);
	for (u32 i = 0; i < model->points.count; i++)
		left |= ask_point(self, (struct point_id){i}) != TYPE_BY_POINT;
	if (left)
		EACH_CHUNK (chunk, model)
			type_place_of(self, chunk_point(&chunk), chunk.page->size[chunk.at]);
}

/* Who names folders with debug files wants those to be read. */
static void read_kept(struct type_cascade *self)
{
	struct err err = {0};

	if (self->query.source->path && !self->query.debug_path)
		trace_read_debug_types(self->query.source->path, &self->kept, &err);
}

static int read_calls(struct type_cascade *self, struct err *err)
{
	struct call_types_query query = {.modules = self->modules.rows.data,
					 .module_count = (u32)self->modules.rows.count,
					 .kept = &self->kept,
					 .debug_path = self->query.debug_path};

	return call_types_read(&self->calls, &query, err);
}

int type_cascade_init(struct type_cascade *self, const struct type_query *query, struct err *err)
{
	int status;

	self->query = *query;
	status = find_index(self, err);
	self->failed |= !module_list_fill(&self->modules, query->source->model);
	self->failed |= !vec_extend(&self->points, query->source->model->points.count + 1) ||
			!vec_extend(&self->by, query->source->model->points.count + 1);
	if (status == 0 && self->failed)
		status = err_memory_for(err, "types");
	if (status == 0)
		fill_samples(self);
	if (status == 0 && (query->guess || query->calls)) {
		read_kept(self);
		status = read_calls(self, err);
	}
	if (status == 0 && query->guess) {
		fill_places(self);
		status = type_guess(self, err);
		type_forget_sources(self);
		fill_samples(self); /* now that sizes of classes are known */
	}
	if (status == 0 && self->failed)
		status = err_memory_for(err, "types");
	if (status < 0)
		type_cascade_release(self);
	return status;
}

void type_cascade_release(struct type_cascade *self)
{
	type_index_free(self->index);
	names_release(&self->names);
	vec_release(&self->places);
	vec_release(&self->points);
	vec_release(&self->by);
	type_forget_sources(self);
	vec_release(&self->samples);
	map_release(&self->by_place);
	vec_release(&self->told);
	vec_release(&self->stack);
	typesizes_release(&self->sizes);
	call_types_release(&self->calls);
	map_release(&self->size_by_name);
	module_list_release(&self->modules);
	debug_types_release(&self->kept);
	*self = (struct type_cascade){0};
}
