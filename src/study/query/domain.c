/* SPDX-License-Identifier: MIT
 * Fields as tables.
 * Host. */
#include "study/query/domain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/trace/kinds.h"
#include "study/analysis/leaks/leaks.h"
#include "study/analysis/memoro/scores.h"
#include "study/query/entries.h"

enum index_kind field_index(enum field field)
{
	switch (field) {
	case F_CALL: return INDEX_KIND;
	case F_FREED:
	case F_KEPT: return INDEX_END;
	case F_CLASS: return INDEX_CLASS;
	case F_TID:
	case F_THREAD_NAME: return INDEX_THREAD;
	case F_TYPE:
	case F_TEMPLATE:
	case F_TYPE_SOURCE: return INDEX_TYPE;
	case F_THREAD:
	case F_FREE_THREAD:
	case F_COUNT: return INDEX_NONE;
	case F_OWNER: return INDEX_OWNER;
	default: break;
	}
	if (query_fields[field].level == LEVEL_POINT)
		return INDEX_POINT;
	return query_fields[field].level == LEVEL_FREE_STACK ? INDEX_FREE : INDEX_NONE;
}

u64 domain_index_count(const struct domain *self, enum index_kind index)
{
	switch (index) {
	case INDEX_POINT:
	case INDEX_FREE: return self->contexts;
	case INDEX_THREAD: return self->model->threads.count;
	case INDEX_TYPE: return self->type_entries.count;
	case INDEX_OWNER: return self->owners.shapes.count;
	default: return 256;
	}
}

u32 domain_frame(const struct domain *self, u32 context, bool frees)
{
	const struct model *model = self->model;
	u32 frame;

	if (!frees)
		return model->points.count
			       ? model->points.data[model_point_of(model, context).index]
					 .frame.index
			       : 0;
	frame = context < model->contexts.nodes.count ? model->contexts.nodes.data[context].frame
						      : 0;
	return frame < self->frames ? frame : 0;
}

/* ---- texts ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void texts_sort(const char **texts, u64 count)
{
	qsort(texts, count, sizeof *texts, compare_texts);
}

/* Texts by index → numbers by index. Texts that are equal may come from different places. */
static int number_texts(struct domain *self, struct field_table *table, const char **by_index,
			struct err *err)
{
	u64 unique = 0;
	struct map numbers = {0};

	table->texts = malloc((table->count + 1) * sizeof *table->texts);
	if (!table->texts)
		return err_memory_for(err, "a query");
	for (u64 i = 0; i < table->count; i++) {
		u64 *seen = NULL;

		if (!by_index[i] || !*by_index[i])
			continue;
		by_index[i] = names_keep(&self->names, by_index[i]);
		seen = map_at(&numbers, (u64)(uintptr_t)by_index[i]);
		if (seen && !(*seen)++)
			table->texts[unique++] = by_index[i];
	}
	texts_sort(table->texts, unique);
	table->text_count = (u32)unique;
	for (u64 i = 0; i < unique; i++)
		map_put(&numbers, (u64)(uintptr_t)table->texts[i], i);
	for (u64 i = 0; i < table->count; i++) {
		u64 *number = by_index[i] && *by_index[i]
				      ? map_find(&numbers, (u64)(uintptr_t)by_index[i])
				      : NULL;

		table->numbers[i] = number ? (double)*number : NAN;
	}
	map_release(&numbers);
	return 0;
}

/* ---- one field after the other ---- */

static const char *frame_text(const struct domain *self, u32 frame, enum field field)
{
	const struct tip *tip = &self->tips[frame];
	const struct stack_names *names = &self->frame_names[tip->frame];
	const struct symbol_frame *symbol =
		tip->name < names->count ? &names->frames[tip->name] : NULL;

	if (!tip->frame)
		return NULL;
	if (field == F_MODULE || field == F_FREE_MODULE)
		return names->module;
	if (field == F_FILE || field == F_FREE_FILE)
		return symbol ? symbol->file : NULL;
	return symbol ? symbol->function : NULL;
}

/* A function without a name is told by its place. */
static const char *place_text(struct domain *self, u32 frame)
{
	const struct tip *tip = &self->tips[frame];
	const struct frame *place =
		context_table_frame(&self->model->contexts, (struct frame_id){tip->frame});
	const char *module = self->frame_names[tip->frame].module, *slash = strrchr(module, '/');
	char text[512];

	if (!tip->frame)
		return NULL;
	snprintf(text, sizeof text, "%.400s+0x%llx", slash ? slash + 1 : module,
		 (unsigned long long)place->address);
	return names_keep(&self->names, text);
}

static const char *stack_text(struct domain *self, u32 frame, enum field field)
{
	const char *text = frame_text(self, frame, field);

	if ((field == F_FN || field == F_FREE_FN) && (!text || !*text))
		return place_text(self, frame);
	return text;
}

static const char *class_text(u64 i) { return i <= CLASS_LOST ? class_name((u32)i) : NULL; }

static const char *call_text(u64 kind)
{
	return kind == HW_NEW_ARRAY ? "new[]" : kind_call((u32)kind);
}

static const char *text_at(struct domain *self, enum field field, u64 i)
{
	const struct type_entry *type =
		i < self->type_entries.count ? &self->type_entries.data[i] : NULL;

	switch (field) {
	case F_CALL: return call_text(i);
	case F_CLASS: return class_text(i);
	case F_OWNER: return domain_owner_text(self, (u32)i);
	case F_THREAD_NAME: return self->model->threads.data[i].name;
	case F_TYPE: return type->name;
	case F_TEMPLATE: return type->folded;
	case F_TYPE_SOURCE: return type->name ? type_origin_name(type->origin) : NULL;
	default:
		return stack_text(self,
				  domain_frame(self, (u32)i,
					       query_fields[field].level == LEVEL_FREE_STACK),
				  field);
	}
}

static double point_number(const struct domain *self, enum field field, u32 index)
{
	const struct model_point *point = &self->model->points.data[index];
	const struct tip *tip;
	struct score_set scores;

	switch (field) {
	case F_POINT: return index;
	case F_LINE:
		tip = &self->tips[point->frame.index];
		return tip->name < self->frame_names[tip->frame].count &&
				       self->frame_names[tip->frame].frames[tip->name].line
			       ? self->frame_names[tip->frame].frames[tip->name].line
			       : NAN;
	case F_DEPTH: return self->depths[point->frame.index];
	case F_POINT_CHUNKS: return (double)model_count(self->model, point->allocations);
	case F_POINT_SIZE: return (double)point->bytes;
	case F_POINT_PEAK: return (double)point->peak_bytes;
	case F_POINT_KEPT: return model_keeps_nothing(self->model) ? 0 : (double)point->live_bytes;
	default: break;
	}
	scores = scores_of(&self->behaviour->points[index]);
	if (field == F_SEV)
		return severity_step(&scores) ? severity_step(&scores) : NAN;
	return scores.known[field - F_LIFETIME] ? scores.value[field - F_LIFETIME] : NAN;
}

_Static_assert(F_USAGE - F_LIFETIME == (int)SCORE_USAGE &&
		       F_USEFUL - F_LIFETIME == (int)SCORE_USEFUL,
	       "scores are fields in the order of their enum");

static double number_at(const struct domain *self, enum field field, u64 i)
{
	const struct model *model = self->model;

	switch (field) {
	case F_FREED: return i == CHUNK_FREED || i == CHUNK_IMPLIED;
	case F_KEPT: return i == CHUNK_KEPT || i == CHUNK_LIVE;
	case F_TID: return model->threads.data[i].told ? model->threads.data[i].tid : NAN;
	default: break;
	}
	if (i >= model->context_points.count || !model->context_points.data[i])
		return NAN;
	return point_number(self, field, model->context_points.data[i] - 1);
}

static int need_for(struct domain *self, enum field field, struct err *err)
{
	const struct query_field *what = &query_fields[field];

	if (what->needs & NEEDS_SCORES)
		return domain_need_scores(self, err);
	if (what->needs & NEEDS_OWNERS)
		return domain_need_owners(self, err);
	if (what->needs & NEEDS_TYPES)
		return domain_need_types(self, err);
	return what->level == LEVEL_POINT || what->level == LEVEL_FREE_STACK
		       ? domain_need_names(self, err)
		       : 0;
}

static int fill_texts(struct domain *self, enum field field, struct field_table *table,
		      struct err *err)
{
	const char **by_index = calloc(table->count + 1, sizeof *by_index);
	bool allocates = field_index(field) == INDEX_POINT;
	int status;

	if (!by_index)
		return err_memory_for(err, "a query");
	for (u64 i = 0; i < table->count; i++)
		if (!allocates ||
		    (i < self->model->context_points.count && self->model->context_points.data[i]))
			by_index[i] = text_at(self, field, i);
	status = number_texts(self, table, by_index, err);
	free(by_index);
	return status;
}

/* Of texts of a stack, the stack's number. */
static int fill_stacks(struct domain *self, enum field field, struct field_table *table,
		       struct err *err)
{
	u8 *known = domain_frames_known(self, field, err);

	for (u64 i = 0; known && i < table->count; i++) {
		u32 frame = domain_frame(self, (u32)i, field == F_FREE_STACK);

		table->numbers[i] = known[frame] ? entry_stack(self->number, frame) : NAN;
	}
	free(known);
	return known ? 0 : err->code;
}

const struct field_table *domain_table(struct domain *self, enum field field, struct err *err)
{
	struct field_table *table = &self->fields[field];

	if (table->made)
		return table;
	if (need_for(self, field, err) < 0)
		return NULL;
	table->count = domain_index_count(self, field_index(field));
	table->numbers = malloc((table->count + 1) * sizeof *table->numbers);
	if (!table->numbers) {
		err_memory_for(err, "a query");
		return NULL;
	}
	if (query_fields[field].type == FIELD_TEXT) {
		if (fill_texts(self, field, table, err) < 0)
			return NULL;
	} else if (query_fields[field].type == FIELD_TEXTS) {
		if (fill_stacks(self, field, table, err) < 0)
			return NULL;
	} else {
		for (u64 i = 0; i < table->count; i++)
			table->numbers[i] = number_at(self, field, i);
	}
	table->made = true;
	return table;
}

/* ---- life ---- */

int domain_init(struct domain *self, const struct query_trace *trace, u32 number, struct err *err)
{
	const struct model *model = trace->model;
	struct frame_id frame;

	*self = (struct domain){.trace = *trace,
				.number = number,
				.model = model,
				.contexts = model->contexts.nodes.count};
	self->source = (struct stack_source){.model = model,
					     .symbols = trace->symbols,
					     .image = trace->image};
	/* Placing contexts changes the inside of the model: it is done here, once, and never while
	 * others read. */
	for (u32 i = 0; i < model->contexts.nodes.count; i++)
		if (model->contexts.nodes.data[i].told && model_place(model, i, &frame, err) < 0)
			return ERR_MEMORY;
	self->frames = model->contexts.frames.count;
	return 0;
}

void domain_release(struct domain *self)
{
	for (u32 i = 0; i < FIELDS; i++) {
		free(self->fields[i].numbers);
		free(self->fields[i].texts);
	}
	names_release(&self->names);
	free(self->frame_names);
	free(self->tips);
	free(self->stack_keys);
	free(self->depths);
	domain_release_owners(self);
	type_cascade_release(&self->types);
	vec_release(&self->type_entries);
	map_release(&self->type_numbers);
	free(self->type_by_context);
	for (u64 i = 0; self->type_pages && i < self->model->chunks.pages.count; i++)
		free(self->type_pages[i]);
	free(self->type_pages);
	behaviour_table_release(&self->own_behaviour);
}
