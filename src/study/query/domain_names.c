/* SPDX-License-Identifier: MIT
 * What has to be found before fields can be looked up: names of frames, types, scores; and the
 * tests of texts.
 * Host. */
#include <regex.h>
#include <string.h>

#include "study/query/domain.h"
#include "host/symbols/type_text.h"

/* ---- frames ---- */

/* What a place in the program has, whoever called it. */
struct place_names {
	struct stack_names names;
	u64 hash;
	u32 own; /* the first name that is not minor, or UINT32_MAX */
};

/* Functions by name; without one the file that has it. */
static u64 hash_names(const struct stack_names *names)
{
	const char *slash = strrchr(names->module, '/');
	u64 hash = names->count;

	for (u32 i = 0; i < names->count; i++)
		hash = hash_u64(hash_text(hash, names->frames[i].function));
	return names->count ? hash : hash_u64(hash_text(1, slash ? slash + 1 : names->module));
}

/* The C library allocates for the program, too (strdup). */
static u32 first_own(const struct stack_names *names)
{
	const char *slash = strrchr(names->module, '/'), *file = slash ? slash + 1 : names->module;

	if (library_is_system(file) || library_is_runtime(file))
		return UINT32_MAX;
	for (u32 i = 0; i < names->count; i++)
		if (!function_is_minor(names->frames[i].function, names->frames[i].file))
			return i;
	return UINT32_MAX;
}

/* The names of a frame's place, looked up once. */
struct place_table {
	VEC(struct place_names) rows;
	struct map by_place; /* index + 1 */
};

static const struct place_names *place_of(struct place_table *self, const struct domain *domain,
					  u32 index)
{
	const struct frame *frame =
		context_table_frame(&domain->model->contexts, (struct frame_id){index});
	u64 key = hash_u64(frame->address ^ ((u64)frame->module << 40) ^ ((u64)frame->flags << 56));
	u64 *number = map_at(&self->by_place, key);
	struct place_names place;

	if (!number)
		return NULL;
	if (!*number) {
		place.names = stack_names(&domain->source, (struct frame_id){index});
		place.hash = hash_names(&place.names);
		place.own = first_own(&place.names);
		if (!vec_push(&self->rows, place))
			return NULL;
		*number = self->rows.count;
	}
	return &self->rows.data[*number - 1];
}

/* The first name that is not minor; that of the caller's tip if there is none. */
static struct tip find_tip(const struct domain *self, const struct place_names *place, u32 frame,
			   u32 parent)
{
	if (place->own != UINT32_MAX)
		return (struct tip){frame, place->own};
	if (place->names.count && self->tips[parent].frame)
		return self->tips[parent];
	return (struct tip){frame, place->names.count ? place->names.count - 1 : UINT32_MAX};
}

static int name_frames(struct domain *self, struct place_table *places, struct err *err)
{
	const struct context_table *contexts = &self->model->contexts;

	self->frame_names[0].module = "";
	for (u32 i = 1; i < self->frames; i++) {
		u32 parent = context_table_frame(contexts, (struct frame_id){i})->parent;
		const struct place_names *place = place_of(places, self, i);

		if (!place)
			return err_memory_for(err, "a query");
		if (parent >= i) /* never: callers are placed before what they call */
			parent = 0;
		self->frame_names[i] = place->names;
		self->tips[i] = find_tip(self, place, i, parent);
		self->stack_keys[i] = hash_u64(self->stack_keys[parent] * 3 ^ place->hash);
		self->depths[i] = self->depths[parent] + 1;
	}
	return 0;
}

int domain_need_names(struct domain *self, struct err *err)
{
	struct place_table places = {0};
	int status;

	if (self->named)
		return 0;
	free(self->frame_names);
	free(self->tips);
	free(self->stack_keys);
	free(self->depths);
	self->frame_names = calloc(self->frames + 1, sizeof *self->frame_names);
	self->tips = calloc(self->frames + 1, sizeof *self->tips);
	self->stack_keys = calloc(self->frames + 1, sizeof *self->stack_keys);
	self->depths = calloc(self->frames + 1, sizeof *self->depths);
	if (!self->frame_names || !self->tips || !self->stack_keys || !self->depths)
		return err_memory_for(err, "a query");
	status = name_frames(self, &places, err);
	vec_release(&places.rows);
	map_release(&places.by_place);
	self->named = status == 0;
	return status;
}

/* ---- texts ---- */

bool text_test_init(struct text_test *self, const struct expr *expr, bool equal)
{
	*self = (struct text_test){.expr = expr, .equal = equal};
	if (expr->kind != EXPR_REGEX)
		return true;
	self->regex = malloc(sizeof(regex_t));
	if (!self->regex ||
	    regcomp(self->regex, expr->text,
		    REG_EXTENDED | REG_NOSUB | (expr->nocase ? REG_ICASE : 0)) != 0) {
		free(self->regex);
		self->regex = NULL;
		return false;
	}
	return true;
}

static bool holds(const struct text_test *self, const char *text)
{
	if (self->regex)
		return regexec(self->regex, text, 0, NULL, 0) == 0;
	return self->equal ? strcmp(text, self->expr->text) == 0
			   : strcasestr(text, self->expr->text) != NULL;
}

bool text_test_holds(struct text_test *self, const char *text)
{
	u64 *known = map_at(&self->known, (u64)(uintptr_t)text);

	if (!known)
		return holds(self, text);
	if (!*known)
		*known = holds(self, text) ? 2 : 1;
	return *known == 2;
}

void text_test_release(struct text_test *self)
{
	if (self->regex)
		regfree(self->regex);
	free(self->regex);
	map_release(&self->known);
	*self = (struct text_test){0};
}

static bool frame_matches(const struct domain *self, enum field field, struct text_test *test,
			  u32 frame, bool own)
{
	const struct stack_names *names = &self->frame_names[frame];
	u32 matching = 0;

	if (field == F_STACK_MODULE)
		return *names->module && text_test_holds(test, names->module);
	for (u32 i = 0; i < names->count; i++) {
		const char *text =
			field == F_STACK_FILE ? names->frames[i].file : names->frames[i].function;

		if (*text && text_test_holds(test, text))
			matching++;
		if (matching && !own)
			return true;
	}
	return own && names->count && matching == names->count;
}

u8 *domain_frames_matching(struct domain *self, enum field field, struct text_test *test, bool own,
			   struct err *err)
{
	u8 *matching;

	if (domain_need_names(self, err) < 0)
		return NULL;
	matching = calloc(self->frames + 1, 1);
	if (!matching) {
		err_memory_for(err, "a query");
		return NULL;
	}
	for (u32 i = 1; i < self->frames; i++) {
		u32 parent =
			context_table_frame(&self->model->contexts, (struct frame_id){i})->parent;

		matching[i] = (!own && parent < i && matching[parent]) ||
			      frame_matches(self, field, test, i, own);
	}
	return matching;
}

u8 *domain_frames_known(struct domain *self, enum field field, struct err *err)
{
	const struct expr any = {.kind = EXPR_TEXT, .text = ""};
	struct text_test test = {.expr = &any};
	u8 *known = domain_frames_matching(self, field, &test, false, err);

	text_test_release(&test);
	if (known && (field == F_STACK || field == F_FREE_STACK)) /* functions without names, too */
		memset(known + 1, 1, self->frames);
	return known;
}

/* ---- scores ---- */

int domain_need_scores(struct domain *self, struct err *err)
{
	int status;

	if (self->behaviour)
		return 0;
	if (self->trace.behaviour) {
		self->behaviour = self->trace.behaviour;
		return 0;
	}
	status = behaviour_find(&self->source, &self->trace.thresholds, &self->own_behaviour, err);
	if (status == 0)
		self->behaviour = &self->own_behaviour;
	else
		behaviour_table_release(&self->own_behaviour);
	return status;
}

/* ---- types ---- */

/* Number of an answer, made if it is new; 0 also if there is no memory. */
static u32 type_number(struct domain *self, const struct type_answer *answer)
{
	u64 key, *number;
	struct strbuf folded = {0};
	struct type_entry entry = {.origin = answer->origin};

	if (!answer->name || !*answer->name)
		return 0;
	entry.name = names_keep(&self->names, answer->name);
	key = hash_u64((u64)(uintptr_t)entry.name) ^ answer->origin;
	number = map_at(&self->type_numbers, key);
	if (!number || *number)
		return number ? (u32)*number : 0;
	type_add_folded(&folded, entry.name);
	entry.folded = names_keep(&self->names, strbuf_text(&folded));
	strbuf_release(&folded);
	if (!vec_push(&self->type_entries, entry))
		return 0;
	*number = self->type_entries.count - 1;
	return (u32)*number;
}

static bool types_by_chunk(const struct domain *self, u64 page)
{
	const struct type_table *told = &self->model->type_table;

	return self->trace.guess || self->types.index ||
	       (page < told->cells.pages.count && told->cells.pages.data[page]);
}

static int fill_page(struct domain *self, u64 number, const struct chunk_page *page,
		     struct err *err)
{
	u32 *types = calloc(CHUNK_PAGE, sizeof *types);

	if (!types)
		return err_memory_for(err, "a query");
	self->type_pages[number] = types;
	for (u32 i = 0; i < CHUNK_PAGE; i++) {
		struct type_answer answer;

		if (page->end[i] == CHUNK_ABSENT)
			continue;
		answer = type_of_chunk(&self->types, number * CHUNK_PAGE + i);
		types[i] = type_number(self, &answer);
	}
	return 0;
}

/* What the stack of each point tells. */
static int fill_points(struct domain *self, struct err *err)
{
	const struct model *model = self->model;
	struct type_answer *answers = calloc(model->points.count + 1, sizeof *answers);

	self->type_by_context = calloc(self->contexts + 1, sizeof *self->type_by_context);
	if (!answers || !self->type_by_context) {
		free(answers);
		return err_memory_for(err, "a query");
	}
	if (!self->trace.guess && !self->types.index && !model->type_table.chunks[0] &&
	    !model->type_table.chunks[1]) {
		type_of_points(&self->types, answers);
		for (u64 i = 0; i < model->context_points.count; i++)
			if (model->context_points.data[i])
				self->type_by_context[i] =
					type_number(self,
						    &answers[model->context_points.data[i] - 1]);
	}
	free(answers);
	return 0;
}

int domain_need_types(struct domain *self, struct err *err)
{
	const struct model *model = self->model;
	struct type_query query = {.source = &self->source,
				   .index = self->trace.type_index,
				   .debug_path = self->trace.debug_path,
				   .guess = self->trace.guess};
	bool told = model->type_table.chunks[0] || model->type_table.chunks[1];

	if (self->types_ready)
		return 0;
	if (type_cascade_init(&self->types, &query, err) < 0)
		return err->code;
	self->type_pages = calloc(model->chunks.pages.count + 1, sizeof *self->type_pages);
	if (!self->type_pages || !vec_push(&self->type_entries, (struct type_entry){0}))
		return err_memory_for(err, "a query");
	if (fill_points(self, err) < 0)
		return ERR_MEMORY;
	for (u64 i = 0; i < model->chunks.pages.count; i++) {
		const struct chunk_page *page = model->chunks.pages.data[i];

		if (page && (told || types_by_chunk(self, i)) && fill_page(self, i, page, err) < 0)
			return ERR_MEMORY;
	}
	self->types_ready = !self->types.failed;
	return self->types.failed ? err_memory_for(err, "a query") : 0;
}
