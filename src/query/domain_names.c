/* SPDX-License-Identifier: MIT
 * What has to be found before fields can be looked up: names of frames, types, scores; and the tests of texts.
 * Host. */
#include <regex.h>
#include <string.h>

#include "query/domain.h"
#include "symbols/type_text.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory for a query");
}

/* ---- frames ---- */

static u64 hash_text(const char *text, u64 hash)
{
	for (; *text; text++)
		hash = (hash ^ (u8)*text) * 0x100000001b3ull;
	return hash_u64(hash);
}

/* Functions by name; without one the file that has it. */
static u64 stack_key(const struct stack_names *names, u64 hash)
{
	const char *slash = strrchr(names->module, '/');

	for (u32 i = 0; i < names->count; i++)
		hash = hash_text(names->frames[i].function, hash);
	return names->count ? hash : hash_text(slash ? slash + 1 : names->module, ~hash);
}

/* The first name that is not minor; that of the caller's tip if there is none. The C library allocates for the
 * program, too (strdup). */
static struct tip find_tip(const struct domain *self, u32 frame, u32 parent)
{
	const struct stack_names *names = &self->frame_names[frame];
	const char *slash = strrchr(names->module, '/');
	bool system = library_is_system(slash ? slash + 1 : names->module);

	for (u32 i = 0; i < names->count && !system; i++)
		if (!function_is_minor(names->frames[i].function, names->frames[i].file))
			return (struct tip){frame, i};
	if (names->count && self->tips[parent].frame)
		return self->tips[parent];
	return (struct tip){frame, names->count ? names->count - 1 : UINT32_MAX};
}

int domain_need_names(struct domain *self, struct err *err)
{
	const struct context_table *contexts = &self->model->contexts;

	if (self->frame_names)
		return 0;
	self->tips = calloc(self->frames + 1, sizeof *self->tips);
	self->stack_keys = calloc(self->frames + 1, sizeof *self->stack_keys);
	self->depths = calloc(self->frames + 1, sizeof *self->depths);
	if (!self->tips || !self->stack_keys || !self->depths)
		return no_memory(err);
	self->frame_names = calloc(self->frames + 1, sizeof *self->frame_names);
	if (!self->frame_names)
		return no_memory(err);
	self->frame_names[0].module = "";
	for (u32 i = 1; i < self->frames; i++) {
		u32 parent = context_table_frame(contexts, (struct frame_id){i})->parent;

		if (parent >= i) /* never: callers are placed before what they call */
			parent = 0;
		self->frame_names[i] = stack_names(&self->source, (struct frame_id){i});
		self->tips[i] = find_tip(self, i, parent);
		self->stack_keys[i] = stack_key(&self->frame_names[i], self->stack_keys[parent]);
		self->depths[i] = self->depths[parent] + 1;
	}
	return 0;
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
		no_memory(err);
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

/* ---- scores ---- */

int domain_need_scores(struct domain *self, struct err *err)
{
	int status;

	if (self->behaviour_ready)
		return 0;
	status = behaviour_find(&self->source, &self->trace.thresholds, &self->behaviour, err);
	self->behaviour_ready = status == 0;
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
	       (page < told->pages.count && told->pages.data[page]);
}

static int fill_page(struct domain *self, u64 number, const struct chunk_page *page,
		     struct err *err)
{
	u32 *types = calloc(CHUNK_PAGE, sizeof *types);

	if (!types)
		return no_memory(err);
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

	self->type_by_point = calloc(model->points.count + 1, sizeof *self->type_by_point);
	if (!answers || !self->type_by_point) {
		free(answers);
		return no_memory(err);
	}
	if (!self->trace.guess && !self->types.index && !model->type_table.chunks[0] &&
	    !model->type_table.chunks[1]) {
		type_of_points(&self->types, answers);
		for (u64 i = 0; i < model->points.count; i++)
			self->type_by_point[i] = type_number(self, &answers[i]);
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
		return no_memory(err);
	if (fill_points(self, err) < 0)
		return ERR_MEMORY;
	for (u64 i = 0; i < model->chunks.pages.count; i++) {
		const struct chunk_page *page = model->chunks.pages.data[i];

		if (page && (told || types_by_chunk(self, i)) && fill_page(self, i, page, err) < 0)
			return ERR_MEMORY;
	}
	self->types_ready = !self->types.failed;
	return self->types.failed ? no_memory(err) : 0;
}
