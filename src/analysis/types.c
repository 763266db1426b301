/* SPDX-License-Identifier: MIT
 * The cascade of types.
 * Host. What depends only on the stack and the size is found once for each of these. */
#include "analysis/types.h"

#include <string.h>

#include "analysis/type_guess.h"
#include "symbols/frame_types.h"

enum {
	STACK_MAX = 96,    /* frames that are looked at; what allocates for others is near */
	OBJECT_MAX = 1024, /* bytes of objects whose size is not known; beyond are arenas, mostly */
};

const char *type_origin_name(u8 origin)
{
	static const char *const names[TYPE_ORIGINS] = {
		[ORIGIN_NONE] = "unknown", [ORIGIN_DECLARED] = "declared", [ORIGIN_VTABLE] = "vtable",
		[ORIGIN_FRAME] = "frame",  [ORIGIN_INDEX] = "index",       [ORIGIN_DWARF] = "dwarf",
		[ORIGIN_SIZE] = "size",
	};

	return origin < TYPE_ORIGINS ? names[origin] : names[ORIGIN_NONE];
}

const char *type_confidence_name(u8 confidence)
{
	static const char *const names[] = {"unknown", "guess", "likely", "exact"};

	return names[confidence <= TYPE_EXACT ? confidence : 0];
}

/* ---- one source after the other ---- */

static const char *keep_readable(struct type_cascade *self, const char *type)
{
	struct strbuf text = {0};
	const char *kept;

	type_add_readable(&text, span_of(type));
	kept = names_keep(&self->names, strbuf_text(&text));
	self->failed |= text.failed || (text.count && !*kept);
	strbuf_release(&text);
	return kept;
}

/* Takes an answer over if it is better than the one there: earlier sources win unless they guess. */
static void consider(struct type_answer *best, const struct type_answer *answer)
{
	if (!answer->confidence || (answer->name && !*answer->name))
		return;
	if (!best->confidence || (best->confidence == TYPE_GUESS && answer->confidence > TYPE_GUESS))
		*best = *answer;
}

static struct type_answer ask_frames(struct type_cascade *self)
{
	struct type_answer answer = {0};
	struct frame_search search = {0};

	for (u64 i = 0; i < self->stack.count; i++)
		if (!frame_search_step(&search, &self->stack.data[i]))
			break;
	if (search.found)
		answer = (struct type_answer){
			.name = names_keep(&self->names, strbuf_text(&search.type)),
			.origin = ORIGIN_FRAME,
			.confidence = (u8)search.confidence};
	frame_search_release(&search);
	return answer;
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

	if (!self->index || !type_index_find_stack(self->index, &query, &found))
		return (struct type_answer){0};
	return (struct type_answer){.name = keep_readable(self, found.type),
				    .count = found.size ? size / found.size : 0,
				    .size = found.size,
				    .origin = ORIGIN_INDEX,
				    .confidence = confidences[found.confidence]};
}

/* ---- stacks ---- */

void type_read_stack(struct type_cascade *self, struct frame_id id)
{
	const struct stack_source *source = self->query.source;

	vec_clear(&self->stack);
	for (u32 at = id.index; at && self->stack.count < STACK_MAX;) {
		const struct frame *frame =
			context_table_frame(&source->model->contexts, (struct frame_id){at});
		struct stack_names names = stack_names(source, (struct frame_id){at});

		for (u32 i = 0; i < names.count; i++)
			self->failed |= !vec_push(&self->stack, names.frames[i]);
		if (!names.count)
			self->failed |= !vec_push(&self->stack,
						  (struct symbol_frame){.function = "", .file = ""});
		at = frame->parent;
	}
}

static struct type_answer ask_place(struct type_cascade *self, u32 point, u64 size)
{
	struct type_answer best = {0}, answer;
	struct frame_id frame = self->query.source->model->points.data[point].frame;

	type_read_stack(self, frame);
	answer = ask_frames(self);
	consider(&best, &answer);
	if (best.confidence <= TYPE_GUESS) {
		answer = ask_index(self, size);
		consider(&best, &answer);
	}
	return best;
}

/* The place's number, or UINT64_MAX if there is no memory. */
static u64 place_of(struct type_cascade *self, u32 point, u64 size)
{
	u64 key = hash_u64(hash_u64((u64)point + 1) ^ size), *index = map_at(&self->by_place, key);
	struct type_place place = {.point = point, .size = size};

	if (index && *index)
		return *index - 1;
	place.answer = ask_place(self, point, size);
	if (!index || !vec_push(&self->places, place)) {
		self->failed = true;
		return UINT64_MAX;
	}
	*index = self->places.count;
	return self->places.count - 1;
}

/* ---- chunks ---- */

static const char *told_name(struct type_cascade *self, u32 type)
{
	const struct model *model = self->query.source->model;

	if (type >= model->types.count || !vec_extend(&self->told, model->types.count))
		return "";
	if (!self->told.data[type])
		self->told.data[type] = keep_readable(self, model->types.data[type]);
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

static bool told_type(struct type_cascade *self, u64 chunk, u64 size, struct type_answer *answer)
{
	struct chunk_type type;

	if (!model_chunk_type(self->query.source->model, chunk, &type))
		return false;
	*answer = (struct type_answer){.name = told_name(self, type.type),
				       .count = type.count,
				       .origin = type.source,
				       .confidence = TYPE_EXACT};
	if (type.source == TYPE_VTABLE)
		answer->confidence = vtable_confidence(self, answer, &type, size);
	return *answer->name;
}

struct type_answer type_of_chunk(struct type_cascade *self, u64 chunk)
{
	const struct model *model = self->query.source->model;
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);
	u32 at = (u32)(chunk % CHUNK_PAGE);
	struct type_answer answer = {0};
	u64 place;

	if (!page || (told_type(self, chunk, page->size[at], &answer) &&
		      answer.confidence > TYPE_GUESS))
		return answer;
	place = place_of(self, model_point_of(model, page->alloc_context[at]).index, page->size[at]);
	if (place != UINT64_MAX)
		consider(&answer, &self->places.data[place].answer);
	return answer;
}

static bool same_type(const struct type_answer *a, const struct type_answer *b)
{
	return a->name == b->name || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

/* One more chunk of a point: origin TYPE_ORIGINS says that they differ. */
static void add_answer(struct type_answer *type, const struct type_answer *answer)
{
	if (!answer->confidence || type->origin == TYPE_ORIGINS)
		return;
	if (!type->confidence)
		*type = *answer;
	else if (!same_type(type, answer))
		type->origin = TYPE_ORIGINS;
	else if (answer->confidence < type->confidence)
		type->confidence = answer->confidence;
}

static bool is_told(const struct model *model)
{
	return model->type_table.chunks[0] || model->type_table.chunks[1];
}

/* Without guesses a point's stack tells as much as its chunks do, but for what was told of them. */
static void ask_points(struct type_cascade *self, struct type_answer *types)
{
	const struct model *model = self->query.source->model;

	for (u32 i = 0; i < model->points.count; i++)
		if (!types[i].confidence)
			types[i] = ask_place(self, i, 0);
}

void type_of_points(struct type_cascade *self, struct type_answer *types)
{
	const struct model *model = self->query.source->model;
	bool by_chunk = self->query.guess || is_told(model);

	for (u64 chunk = 0; by_chunk && chunk < model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);
		struct type_answer answer = {0};

		model_pass(model, chunk);
		if (!page || page->end[chunk % CHUNK_PAGE] == CHUNK_ABSENT)
			continue;
		if (self->query.guess)
			answer = type_of_chunk(self, chunk);
		else
			told_type(self, chunk, page->size[chunk % CHUNK_PAGE], &answer);
		add_answer(&types[model_point_of(model, page->alloc_context[chunk % CHUNK_PAGE]).index],
			   &answer);
	}
	if (!self->query.guess)
		ask_points(self, types);
	for (u64 i = 0; i < model->points.count; i++)
		if (types[i].origin == TYPE_ORIGINS)
			types[i] = (struct type_answer){0};
}

const char *stack_type(const struct stack_source *source, struct frame_id frame)
{
	const struct model *model = source->model;
	u32 point = frame.index < model->frame_points.count ? model->frame_points.data[frame.index] : 0;

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

/* Asks for every chunk, so that it is known which sizes are left to guess. */
static void fill_places(struct type_cascade *self)
{
	const struct model *model = self->query.source->model;

	for (u64 chunk = 0; chunk < model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);

		model_pass(model, chunk);
		if (page && page->end[chunk % CHUNK_PAGE] != CHUNK_ABSENT)
			type_of_chunk(self, chunk);
	}
}

int type_cascade_init(struct type_cascade *self, const struct type_query *query, struct err *err)
{
	int status;

	self->query = *query;
	status = find_index(self, err);
	self->failed |= !module_list_fill(&self->modules, query->source->model);
	if (status == 0 && query->guess) {
		fill_places(self);
		status = type_guess(self, err);
	}
	if (status == 0 && self->failed)
		status = err_set(err, ERR_MEMORY, "out of memory for types");
	if (status < 0)
		type_cascade_release(self);
	return status;
}

void type_cascade_release(struct type_cascade *self)
{
	type_index_free(self->index);
	names_release(&self->names);
	vec_release(&self->places);
	map_release(&self->by_place);
	vec_release(&self->told);
	vec_release(&self->stack);
	typesizes_release(&self->sizes);
	map_release(&self->size_by_name);
	module_list_release(&self->modules);
	*self = (struct type_cascade){0};
}
