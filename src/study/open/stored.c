/* SPDX-License-Identifier: MIT
 * Scores and findings in an index.
 * Host. What is read may be a stranger's: numbers that are counted with may be anything, those that
 * lead somewhere are checked. */
#include "study/open/study.h"

#include <string.h>

#include "host/trace/block.h"

enum {
	STORED_BEHAVIOUR = STORED_OTHERS, /* struct behaviour, by point */
	STORED_WHOLE,                     /* struct whole */
	STORED_FINDINGS,                  /* struct finding */
	STORED_ENDS,
	/* Changes whenever any of these is found in another way. */
	STORED_VERSION = 4,
};
_Static_assert((int)STORED_ENDS == (int)STORED_ABOVE, "kinds of rooms above begin after ours");

struct whole {
	struct behaviour all;
	u64 plain_libraries;
	u64 below, from_accesses; /* of the findings */
};

/* By which tables of another layout, or by other thresholds, are told from ours. */
static u64 stored_tag(void)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	const u64 facts[] = {STORED_VERSION,
			     sizeof(struct behaviour),
			     sizeof(struct whole),
			     sizeof(struct finding),
			     INFERENCES,
			     FINDING_KINDS,
			     (u64)(FINDINGS_MIN_SHARE * 1e9)};

	return checksum(facts, sizeof facts) ^ checksum(&limits, sizeof limits);
}

/* ---- writing ---- */

static int put_behaviour(const struct behaviour_table *behaviour, const struct findings *findings,
			 struct index_writer *out, struct err *err)
{
	struct whole whole;
	int status;

	memset(&whole, 0, sizeof whole);
	whole.all = behaviour->whole;
	whole.plain_libraries = behaviour->plain_libraries;
	whole.below = findings->below;
	whole.from_accesses = findings->from_accesses;
	status = stored_put(out, STORED_BEHAVIOUR,
			    STORED_ROWS(behaviour->points, behaviour->count, stored_tag()), err);
	if (status == 0)
		status = stored_put(out, STORED_WHOLE, STORED_ROWS(&whole, 1, stored_tag()), err);
	if (status == 0)
		status = stored_put(out, STORED_FINDINGS,
				    STORED_ROWS(findings->rows.data, findings->rows.count,
						stored_tag()),
				    err);
	return status;
}

int study_store(void *self_, const struct model *model, const struct trace_info *info,
		struct index_writer *out, struct err *err)
{
	struct study *self = self_;
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE,
				       .pointers = {self->path, (int)model->image.number, info}};
	struct symbol_table symbols = {0};
	struct stack_source source = {.model = model,
				      .symbols = &symbols,
				      .image = model->image.number};
	struct behaviour_table behaviour = {0};
	struct findings findings = {0};
	struct folds folds = {0};
	struct growth_samples *growth = NULL;
	int status = info->has_symbols ? trace_read_symbols(self->path, &symbols, err) : 0;

	if (status == 0)
		status = folds_find(&folds, &source, NULL, err);
	source.folds = &folds;
	if (self->following.model == model && following_take(&self->following, &behaviour, &growth))
		behaviour_finish(&source, &behaviour);
	else if (status == 0)
		status = behaviour_find(&source, &query.thresholds, &behaviour, err);
	source.behaviour = &behaviour;
	source.growth = growth;
	model_rest(model);
	if (status == 0)
		status = findings_make(&findings, &source, info, &query, err);
	model_rest(model);
	if (status == 0)
		status = put_behaviour(&behaviour, &findings, out, err);
	if (status == 0 && self->how.store)
		status = self->how.store(model, out, err);
	findings_release(&findings);
	behaviour_table_release(&behaviour);
	growth_samples_free(growth);
	folds_release(&folds);
	symbol_table_release(&symbols);
	return status;
}

/* ---- reading ---- */

const void *study_stored(const struct model *model, u32 kind, u64 tag, u64 size, u64 count)
{
	const struct stored *stored = &model->stored[kind];

	return stored->data && stored->tag == tag &&
			       (count ? stored->bytes == count * size : stored->bytes % size == 0)
		       ? stored->data
		       : NULL;
}

static const void *table_of(const struct model *model, u32 kind, u64 size, u64 count)
{
	return study_stored(model, kind, stored_tag(), size, count);
}

/* A bool in memory that somebody else wrote. */
static bool is_bool(const void *at)
{
	u8 byte;

	memcpy(&byte, at, 1);
	return byte <= 1;
}

static bool behaviour_sound(const struct behaviour *self)
{
	return is_bool(&self->unseen) && is_bool(&self->is_estimated) &&
	       is_bool(&self->is_lower_bound) && is_bool(&self->growth.realloc);
}

static bool finding_sound(const struct finding *self, const struct model *model)
{
	return memchr(self->id, 0, sizeof self->id) &&
	       memchr(self->grows.container, 0, sizeof self->grows.container) &&
	       memchr(self->grows.root, 0, sizeof self->grows.root) &&
	       memchr(self->grows.element, 0, sizeof self->grows.element) &&
	       self->kind < FINDING_KINDS && self->confidence <= SURE_INFERRED &&
	       self->level < LEVELS && self->saving.unit < SAVING_UNITS &&
	       (!self->frame.index || self->frame.index < model->contexts.frames.count) &&
	       self->map.size <= HW_MAP_BYTES && is_bool(&self->temporary) &&
	       is_bool(&self->of_type) && is_bool(&self->of_arena) && is_bool(&self->of_entry) &&
	       is_bool(&self->growth.realloc) && self->chunk_class < CLASS_COUNT &&
	       self->misuse < MISUSE_KINDS;
}

static void take_findings(struct study *self, const struct whole *whole)
{
	const struct model *model = self->model;
	const struct finding *rows = table_of(model, STORED_FINDINGS, sizeof *rows, 0);
	u64 count = model->stored[STORED_FINDINGS].bytes / sizeof *rows;

	for (u64 i = 0; rows && i < count; i++)
		if (!finding_sound(&rows[i], model))
			return;
	if (!rows || !vec_reserve(&self->findings.rows, count + 1))
		return;
	memcpy(self->findings.rows.data, rows, count * sizeof *rows);
	self->findings.rows.count = count;
	self->findings.below = whole->below;
	self->findings.from_accesses = whole->from_accesses != 0;
	self->parts[PART_FINDINGS].made = true;
}

static bool take_behaviour(struct study *self, const struct whole *whole)
{
	const struct model *model = self->model;
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	const struct behaviour *points =
		table_of(model, STORED_BEHAVIOUR, sizeof *points, model->points.count);

	if (!points || !behaviour_sound(&whole->all))
		return false;
	for (u64 i = 0; i < model->points.count; i++)
		if (!behaviour_sound(&points[i]))
			return false;
	self->behaviour = (struct behaviour_table){.points = (struct behaviour *)points,
						   .count = model->points.count,
						   .plain_libraries = whole->plain_libraries != 0,
						   .whole = whole->all,
						   .limits = limits,
						   .borrowed = true};
	self->stacks.behaviour = self->folded_stacks.behaviour = &self->behaviour;
	query_engine_give_scores(self->engine, &self->behaviour);
	return true;
}

void study_stored_take(struct study *self)
{
	const struct model *model = self->model;
	const struct whole *whole = table_of(model, STORED_WHOLE, sizeof *whole, 1);

	if (model->points.count && whole && take_behaviour(self, whole))
		take_findings(self, whole);
}
