/* SPDX-License-Identifier: MIT
 * Names and what was allocated below them.
 * Host. */
#include "study/layout/suggest.h"

#include <stdio.h>
#include <string.h>

#include "host/base/keyed.h"
#include "study/layout/keys.h"
#include "study/layout/pattern.h"
#include "study/layout/slots.h"

bool suggest_kind_parse(const char *word, enum suggest_kind *kind)
{
	static const char *const words[SUGGEST_KINDS] = {"fn", "type", "module", "file", "thread"};

	return word_parse(words, word, kind);
}

/* Names that were met, each once. */
struct names_met {
	struct suggestions *list;
	const struct study *trace;
	struct map by_text; /* hash → index + 1 */
	VEC(u32) stamps;    /* by row: the last point that counted for it, + 1 */
};

static bool met(struct names_met *self, const char *text, u32 *row)
{
	u64 hash = hash_text(HASH_START, text);

	for (;; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(&self->by_text, hash);

		if (!index)
			return false;
		if (!*index) {
			if (!vec_push(&self->list->rows, (struct suggestion){.label = text}) ||
			    !vec_push(&self->stamps, 0))
				return false;
			*index = self->list->rows.count;
		}
		*row = (u32)*index - 1;
		if (strcmp(self->list->rows.data[*row].label, text) == 0)
			return true;
	}
}

/* A point counts once, however often the name is on its stack. */
static bool credit(struct names_met *self, const char *text, struct point_id point)
{
	const struct model *model = self->trace->model;
	const struct model_point *from = &model->points.data[point.index];
	u32 row;

	if (!*text)
		return true;
	if (!met(self, text, &row))
		return false;
	if (self->stamps.data[row] == point.index + 1)
		return true;
	self->stamps.data[row] = point.index + 1;
	self->list->rows.data[row].count += (double)model_count(model, from->allocations);
	self->list->rows.data[row].bytes += (double)from->bytes;
	return true;
}

static bool meet_stack(struct names_met *self, struct point_id point, bool files)
{
	const struct context_table *contexts = &self->trace->model->contexts;
	u32 at = self->trace->model->points.data[point.index].frame.index;

	for (; at; at = contexts->frames.data[at].parent) {
		struct stack_names names = stack_names(&self->trace->stacks, (struct frame_id){at});

		for (u32 i = 0; i < names.count; i++)
			if (!credit(self, files ? names.frames[i].file : names.frames[i].function,
				    point))
				return false;
	}
	return true;
}

static bool meet_threads(struct names_met *self)
{
	const struct model *model = self->trace->model;

	for (u64 i = 0; i < model->threads.count; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		char label[48];

		snprintf(label, sizeof label, "%u %.15s", thread->tid, thread->name);
		if (!vec_push(&self->list->rows,
			      (struct suggestion){arena_copy(&self->list->arena, label),
						  (double)model_count(model, thread->allocations),
						  (double)thread->bytes}))
			return false;
	}
	return true;
}

static bool meet_types(struct names_met *self, const struct type_list *list)
{
	for (u64 i = 0; i < list->rows.count; i++) {
		const struct type_sums *row = &list->rows.data[i];

		if (row->name &&
		    !vec_push(&self->list->rows,
			      (struct suggestion){row->name,
						  (double)model_count(list->model, row->chunks),
						  (double)row->bytes}))
			return false;
	}
	return true;
}

static int meet_all(struct names_met *self, struct study *trace, enum suggest_kind kind,
		    struct err *err)
{
	const struct type_list *types = kind == SUGGEST_TYPE ? study_type_list(trace, err) : NULL;
	bool enough = true;

	if (kind == SUGGEST_TYPE && !types)
		return err->code;
	if (kind == SUGGEST_TYPE)
		enough = meet_types(self, types);
	if (kind == SUGGEST_THREAD)
		enough = meet_threads(self);
	for (u32 i = 0; i < trace->model->points.count && enough; i++) {
		struct point_id point = {i};

		if (kind == SUGGEST_FN || kind == SUGGEST_FILE)
			enough = meet_stack(self, point, kind == SUGGEST_FILE);
		else if (kind == SUGGEST_MODULE)
			enough = credit(self, view_point_module(trace, point), point);
	}
	return enough ? 0 : err_memory_for(err, "the names");
}

static int most_first(const void *a, const void *b)
{
	const struct suggestion *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->label, y->label);
}

static void suggestions_free(void *self)
{
	suggestions_release(self);
	free(self);
}

/* All of a kind, which is asked for anew with each letter that is typed. */
static void *make_all(struct study *trace, u32 slot, struct err *err)
{
	struct suggestions *all = calloc(1, sizeof *all);
	struct names_met names = {.list = all, .trace = trace};
	int status = all ? meet_all(&names, trace, (enum suggest_kind)(slot - SLOT_SUGGEST), err)
			 : err_memory_for(err, "the names");

	map_release(&names.by_text);
	vec_release(&names.stamps);
	if (status < 0) {
		if (all)
			suggestions_free(all);
		return NULL;
	}
	if (all->rows.count)
		qsort(all->rows.data, all->rows.count, sizeof *all->rows.data, most_first);
	return all;
}

_Static_assert((int)SUGGEST_KINDS <= LAYOUT_SLOTS - SLOT_SUGGEST, "one slot for each kind");
int suggestions_make(struct suggestions *self, struct study *trace,
		     const struct suggest_query *query, struct err *err)
{
	const struct suggestions *all =
		study_slot(trace, SLOT_SUGGEST + query->kind, make_all, suggestions_free, err);
	struct view_pattern pattern;
	int status;

	if (!all)
		return err->code;
	status = view_pattern_init(&pattern, query->text, err);
	for (u64 i = 0; i < all->rows.count && status == 0; i++) {
		if (!view_pattern_matches(&pattern, all->rows.data[i].label))
			continue;
		if (self->found++ < query->limit && !vec_push(&self->rows, all->rows.data[i]))
			status = err_memory_for(err, "the names");
	}
	view_pattern_release(&pattern);
	return status;
}

void suggestions_release(struct suggestions *self)
{
	vec_release(&self->rows);
	arena_release(&self->arena);
}
