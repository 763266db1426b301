/* SPDX-License-Identifier: MIT
 * Adds up both sides of a comparison by their keys, and tells what became of each.
 * Host. Reads the models, never changes them. Whole recordings by stack or place take the sums that
 * the model has for each point; types, threads and moments take one pass over the chunks of each
 * side. */
#include "study/analysis/compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/keyed.h"
#include "host/base/path.h"
#include "study/analysis/memoro/scores.h"
#include "study/model/each.h"
#include "study/model/narrow.h"

/* ---- words ---- */

static const char *const by_words[] = {"stack", "function", "type", "file", "module", "thread"};
static const char *const metric_words[] = {"bytes", "allocations", "peak", "kept", "temporary"};
static const char *const align_words[] = {"start", "peak", "marks"};
static const char *const status_words[] = {"new", "gone", "grew", "shrank", "same"};

bool compare_by_parse(const char *word, enum compare_by *by)
{
	return word_parse(by_words, word, by);
}

bool compare_metric_parse(const char *word, enum compare_metric *metric)
{
	return word_parse(metric_words, word, metric);
}

bool compare_align_parse(const char *word, enum compare_align *align)
{
	return word_parse(align_words, word, align);
}

const char *compare_by_name(enum compare_by by) { return by_words[by]; }
const char *compare_metric_name(enum compare_metric metric) { return metric_words[metric]; }
const char *compare_align_name(enum compare_align align) { return align_words[align]; }
const char *compare_status_name(enum compare_status status) { return status_words[status]; }

bool compare_metric_is_bytes(enum compare_metric metric)
{
	return metric != COMPARE_ALLOCATIONS && metric != COMPARE_TEMPORARY;
}

/* ---- rows ---- */

/* The row of a key, made if it is new; NULL if there is no memory. */
static struct compare_row *row_of(struct comparison *self, const struct compare_row *key)
{
	return vec_at_key(&self->rows, &self->by_key, key->key, *key);
}

void compare_sums_add(struct compare_sums *to, const struct compare_sums *from)
{
	for (u32 i = 0; i < COMPARE_METRICS; i++)
		to->value[i] += from->value[i];
}

static void row_add(struct compare_row *row, u32 side, const struct compare_sums *sums,
		    const struct model_point *point)
{
	compare_sums_add(&row->side[side], sums);
	row->there[side] |= sums->value[COMPARE_ALLOCATIONS] != 0;
	if (!row->frame[side].index || point->bytes > row->frame_bytes[side]) {
		row->frame[side] = point->frame;
		row->frame_bytes[side] = point->bytes;
	}
}

const char *compare_program_name(const struct model *model)
{
	return path_file(model->has_image ? model->image.program : "");
}

struct compare_sums compare_sums_of_point(const struct model *model,
					  const struct model_point *point)
{
	return (struct compare_sums){
		.value = {[COMPARE_BYTES] = point->bytes,
			  [COMPARE_ALLOCATIONS] = point->allocations,
			  [COMPARE_PEAK] = point->at_peak_bytes,
			  [COMPARE_KEPT] = model_keeps_nothing(model) ? 0 : point->live_bytes,
			  [COMPARE_TEMPORARY] = point->temporary}};
}

/* ---- chunks ---- */

/* A pass over the chunks of one side. */
struct pass {
	struct comparison *self;
	const struct model *model;
	u32 side;
	const struct compare_cuts *cuts; /* NULL = go by the columns */
	VEC(u32) rows;                   /* by point: number of its row + 1 */
};

static struct compare_fate fate_of(const struct pass *pass, const struct chunk *chunk)
{
	u64 born = chunk->page->alloc_ticks[chunk->at], died = chunk->page->free_ticks[chunk->at],
	    peak = pass->model->totals.peak_ticks;

	if (pass->cuts)
		return compare_cuts_fate(pass->cuts, chunk->number,
					 pass->self->query.side[pass->side].cut);
	return (struct compare_fate){.born = true,
				     .freed = !chunk_is_kept(chunk),
				     .at_peak = born <= peak && (!died || died > peak)};
}

static struct compare_sums sums_of_chunk(const struct chunk *chunk, const struct compare_fate *fate)
{
	bool quick = fate->freed && chunk->page->end[chunk->at] != CHUNK_EXEC &&
		     chunk->page->others[chunk->at] == 0;
	u64 units, bytes;

	model_weigh(chunk->model, chunk->page->size[chunk->at], &units, &bytes);
	return (struct compare_sums){.value = {[COMPARE_BYTES] = bytes,
					       [COMPARE_ALLOCATIONS] = units,
					       [COMPARE_PEAK] = fate->at_peak ? bytes : 0,
					       [COMPARE_KEPT] = fate->freed ? 0 : bytes,
					       [COMPARE_TEMPORARY] = quick ? units : 0}};
}

static bool key_is_of_point(enum compare_by by)
{
	return by != COMPARE_BY_TYPE && by != COMPARE_BY_THREAD;
}

static int add_chunk(struct pass *pass, const struct chunk *chunk, struct err *err)
{
	struct comparison *self = pass->self;
	struct point_id point = chunk_point(chunk);
	struct compare_fate fate = fate_of(pass, chunk);
	struct compare_sums sums = sums_of_chunk(chunk, &fate);
	struct compare_row key = {0}, *row;
	int status = 0;

	if (!fate.born)
		return 0;
	if (key_is_of_point(self->query.by) && pass->rows.data[point.index]) {
		row = &self->rows.data[pass->rows.data[point.index] - 1];
	} else {
		status = key_is_of_point(self->query.by)
				 ? compare_key_of_point(self, pass->side, point, &key, err)
				 : compare_key_of_chunk(self, pass->side, chunk->number, &key, err);
		if (status < 0)
			return status;
		row = row_of(self, &key);
		if (!row)
			return err_memory_for(err, "a comparison");
		pass->rows.data[point.index] = (u32)(row - self->rows.data) + 1;
	}
	row_add(row, pass->side, &sums, &pass->model->points.data[point.index]);
	if (pass->cuts)
		compare_sums_add(&self->totals[pass->side], &sums);
	return 0;
}

static int add_chunks(struct pass *pass, struct err *err)
{
	if (!vec_extend(&pass->rows, pass->model->points.count + 1))
		return err_memory_for(err, "a comparison");
	EACH_CHUNK (chunk, pass->model) {
		int status = add_chunk(pass, &chunk, err);

		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- sides ---- */

static int add_points(struct comparison *self, u32 side, struct err *err)
{
	const struct model *model = self->query.side[side].source->model;

	for (u32 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];
		struct compare_sums sums = compare_sums_of_point(model, point);
		struct compare_row key = {0}, *row;
		int status;

		if (model_point_is_empty(model, i)) { /* adds nothing to any row */
			if (!vec_push(&self->point_rows[side], 0))
				return err_memory_for(err, "a comparison");
			continue;
		}
		status = compare_key_of_point(self, side, (struct point_id){i}, &key, err);
		if (status < 0)
			return status;
		row = row_of(self, &key);
		if (!row)
			return err_memory_for(err, "a comparison");
		row_add(row, side, &sums, point);
		if (!vec_push(&self->point_rows[side], (u32)(row - self->rows.data)))
			return err_memory_for(err, "a comparison");
	}
	return 0;
}

struct compare_sums compare_sums_of_all(const struct model *model)
{
	const struct model_totals *totals = &model->totals;

	return (struct compare_sums){
		.value = {[COMPARE_BYTES] = totals->bytes,
			  [COMPARE_ALLOCATIONS] = totals->allocations,
			  [COMPARE_PEAK] = model_peak(model).bytes,
			  [COMPARE_KEPT] = model_keeps_nothing(model) ? 0 : totals->live_bytes,
			  [COMPARE_TEMPORARY] = totals->temporary}};
}

void compare_sums_settle(const struct model *model, struct compare_sums *sums)
{
	sums->value[COMPARE_ALLOCATIONS] = model_count(model, sums->value[COMPARE_ALLOCATIONS]);
	sums->value[COMPARE_TEMPORARY] = model_count(model, sums->value[COMPARE_TEMPORARY]);
}

static int add_side(struct comparison *self, u32 side, struct err *err)
{
	const struct compare_side *from = &self->query.side[side];
	const struct model *model = from->source->model;
	struct pass pass = {.self = self, .model = model, .side = side, .cuts = from->cuts};
	bool whole = !from->cuts || from->cuts->moment[from->cut].kind == MOMENT_END;
	int status;

	if (whole && key_is_of_point(self->query.by))
		status = add_points(self, side, err);
	else
		status = add_chunks(&pass, err);
	vec_release(&pass.rows);
	if (whole) {
		self->peak_ticks[side] = model->totals.peak_ticks;
		self->duration_ns[side] = model_duration_ns(model);
		self->totals[side] = compare_sums_of_all(model);
	} else {
		self->peak_ticks[side] = from->cuts->peak_ticks[from->cut];
		self->duration_ns[side] =
			tick_clock_ns(&model->clock, from->cuts->moment[from->cut].ticks);
		self->totals[side].value[COMPARE_PEAK] = from->cuts->peak_bytes[from->cut];
	}
	compare_sums_settle(model, &self->totals[side]);
	for (u64 i = 0; i < self->rows.count; i++)
		compare_sums_settle(model, &self->rows.data[i].side[side]);
	return status;
}

/* ---- what became of each ---- */

static u64 apart(u64 a, u64 b) { return a > b ? a - b : b - a; }

static enum compare_status status_of(const struct comparison *self, const struct compare_row *row)
{
	u64 a = row->side[0].value[self->query.metric], b = row->side[1].value[self->query.metric];
	double larger = (double)(a > b ? a : b);

	if (a == b)
		return COMPARE_SAME;
	if (!row->there[0])
		return COMPARE_NEW;
	if (!row->there[1])
		return COMPARE_GONE;
	if ((double)apart(a, b) <= self->query.tolerance * larger)
		return COMPARE_SAME;
	return a < b ? COMPARE_GREW : COMPARE_SHRANK;
}

static void judge(struct comparison *self)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		struct compare_row *row = &self->rows.data[i];

		row->status = status_of(self, row);
		self->states[row->status]++;
		for (u32 side = 0; side < 2; side++) {
			u64 value = row->side[side].value[self->query.metric];

			self->sum[side] += value;
			if (row->there[0] && row->there[1])
				self->matched[side] += value;
		}
	}
}

/* A row has the scores that all chunks of its points have together. */
static int add_severity(struct comparison *self, u32 side, struct err *err)
{
	static const struct thresholds thresholds = THRESHOLDS_DEFAULT;
	struct behaviour *sums = calloc(self->rows.count + 1, sizeof *sums);
	struct behaviour_table table = {0};
	int status = sums ? behaviour_find(self->query.side[side].source, &thresholds, &table, err)
			  : err_memory_for(err, "scores");

	for (u64 i = 0; status == 0 && i < self->point_rows[side].count; i++)
		behaviour_add_scores(&sums[self->point_rows[side].data[i]], &table.points[i]);
	for (u64 i = 0; status == 0 && i < self->rows.count; i++) {
		struct score_set scores = scores_of(&sums[i]);

		self->rows.data[i].severity[side] = severity_step(&scores);
	}
	behaviour_table_release(&table);
	free(sums);
	return status;
}

static int largest_first(const void *a, const void *b, void *data)
{
	const struct compare_row *x = a, *y = b;
	enum compare_metric by = *(const enum compare_metric *)data;
	u64 dx = apart(x->side[0].value[by], x->side[1].value[by]),
	    dy = apart(y->side[0].value[by], y->side[1].value[by]);

	return falling(dx, dy)
		       ?: falling(x->side[0].value[by] + x->side[1].value[by],
				  y->side[0].value[by] + y->side[1].value[by])
		       ?: x->name && y->name ? strcmp(x->name, y->name)
					     : rising(x->hash, y->hash);
}

int compare_find(struct comparison *self, const struct compare_query *query, struct err *err)
{
	int status;

	self->query = *query;
	status = compare_keys_begin(self, err);
	for (u32 side = 0; side < 2 && status == 0; side++)
		status = add_side(self, side, err);
	if (status < 0)
		return status;
	for (u32 side = 0; side < 2; side++)
		if (query->by == COMPARE_BY_TYPE && query->side[side].types->failed)
			return err_memory_for(err, "types");
	for (u32 side = 0; side < 2 && query->severity && status == 0; side++)
		if (self->point_rows[side].count)
			status = add_severity(self, side, err);
	if (status < 0)
		return status;
	judge(self);
	if (self->rows.count)
		qsort_r(self->rows.data, self->rows.count, sizeof *self->rows.data, largest_first,
			&self->query.metric);
	map_clear(&self->by_key);
	return compare_lines(self, err);
}

void comparison_release(struct comparison *self)
{
	vec_release(&self->rows);
	vec_release(&self->lines);
	vec_release(&self->nodes);
	vec_release(&self->chain);
	vec_release(&self->loose);
	folds_release(&self->folds);
	for (u32 side = 0; side < 2; side++) {
		vec_release(&self->frame_nodes[side]);
		vec_release(&self->point_rows[side]);
	}
	map_release(&self->by_node);
	map_release(&self->by_key);
	names_release(&self->names);
	strbuf_release(&self->text);
	*self = (struct comparison){0};
}
