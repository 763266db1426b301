/* SPDX-License-Identifier: MIT
 * Holds recordings to their budgets, and finds who is to blame for what is above.
 * Host. A recording that is known to lack something cannot pass: what is missing may be what is
 * above. */
#include "study/analysis/budget/budget.h"

#include <stdlib.h>
#include <string.h>

#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "study/model/each.h"

/* ---- completeness ---- */

static void add_reason(struct strbuf *out, const char *text)
{
	strbuf_addf(out, "%s%s", out->count ? ", " : "", text);
}

static void why_incomplete(const struct budget_trace *trace, struct strbuf *out)
{
	const struct model *model = trace->source->model;
	u64 lost = summary_lost_events(model);

	if (!model->has_image)
		add_reason(out, "the trace contains no program");
	else if (!model->has_end)
		add_reason(out, "the recording is truncated before the program's end");
	if (trace->info && trace->info->damaged_blocks)
		add_reason(out, "parts of the file are damaged");
	if (lost) {
		add_reason(out, "");
		strbuf_add(out, units_things(lost, "event(s) (was|were) lost").text);
	}
	if (model->strange_events)
		add_reason(out, "events contradict each other");
	if (model->aggregated)
		add_reason(out,
			   "the trace reached its size limit; peaks and temporary chunks cover the "
			   "run up to then");
}

/* ---- who is to blame ---- */

/* The values of all points in what the row is about; NULL if there is no memory. */
static u64 *values_by_point(const struct check *self, const struct check_row *row)
{
	const struct model *model = self->query.trace.source->model;
	const struct budget_set *set = &self->sets.data[row->budget];
	u64 *values = calloc(model->points.count + 1, sizeof *values);

	for (u64 i = 0; values && !set->by_chunk && i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];
		struct compare_sums sums = compare_sums_of_point(model, point);

		if (set->by_point && !set->by_point[i])
			continue;
		/* A part of the program has its peak at another time than the whole. */
		if (set->by_point)
			sums.value[COMPARE_PEAK] = point->peak_bytes;
		compare_sums_settle(model, &sums);
		if (row->metric != COMPARE_KEPT || !self->sets.data[0].hidden[i])
			values[i] = sums.value[row->metric];
	}
	if (!values || !set->by_chunk)
		return values;
	EACH_CHUNK (chunk, model, .words = set->by_chunk) {
		bool kept = chunk_is_kept(&chunk);
		bool counts = row->metric == COMPARE_KEPT ? kept
			      : row->metric == COMPARE_TEMPORARY
				      ? !kept && chunk.page->others[chunk.at] == 0
				      : true;

		if (counts)
			values[chunk_point(&chunk).index] += compare_metric_is_bytes(row->metric)
								     ? chunk.page->size[chunk.at]
								     : 1;
	}
	return values;
}

static bool add_culprit(struct check *self, struct check_row *row, struct check_culprit culprit)
{
	row->count++;
	return vec_push(&self->culprits, culprit);
}

/* The points that have most of it. */
static bool blame_points(struct check *self, struct check_row *row)
{
	const struct model *model = self->query.trace.source->model;
	u64 *values = values_by_point(self, row);
	bool done = values != NULL;

	for (u64 n = 0; done && n < self->query.top; n++) {
		u64 most = 0;

		for (u64 i = 1; i < model->points.count; i++)
			if (values[i] > values[most])
				most = i;
		if (!model->points.count || !values[most])
			break;
		done = add_culprit(self, row,
				   (struct check_culprit){model->points.data[most].frame,
							  values[most], 0});
		values[most] = 0;
	}
	free(values);
	return done;
}

/* The stacks that grew most. */
static int blame_growth(struct check *self, struct check_row *row, struct err *err)
{
	const struct budget *budget = &self->query.budgets->list.data[row->budget];
	const struct budget_trace *now = &self->query.trace, *before = self->query.baseline;
	struct compare_query query = {.side = {{.source = before->source, .info = before->info},
					       {.source = now->source, .info = now->info}},
				      .metric = row->metric};
	struct comparison found = {0};
	int status = compare_find(&found, &query, err);

	for (u64 i = 0; status == 0 && i < found.rows.count && row->count < self->query.top; i++) {
		const struct compare_row *one = &found.rows.data[i];
		u64 a = one->side[0].value[row->metric], b = one->side[1].value[row->metric];

		if (b > a && budget_has_stack(budget, now->source, one->frame[1]) &&
		    !add_culprit(self, row, (struct check_culprit){one->frame[1], b, a}))
			status = err_memory_for(err, "budgets");
	}
	comparison_release(&found);
	return status;
}

static int blame(struct check *self, struct check_row *row, struct err *err)
{
	row->first = self->culprits.count;
	if (row->growth && self->query.budgets->list.data[row->budget].scope != BUDGET_TYPE)
		return blame_growth(self, row, err);
	return blame_points(self, row) ? 0 : err_memory_for(err, "budgets");
}

/* ---- rows ---- */

static int add_row(struct check *self, struct check_row row, struct err *err)
{
	int status = 0;

	row.over = row.value > row.limit;
	self->over += row.over;
	if (row.over)
		status = blame(self, &row, err);
	if (status == 0 && !vec_push(&self->rows, row))
		status = err_memory_for(err, "budgets");
	return status;
}

/* What the baseline allows. */
static u64 grown_limit(u64 base, double growth)
{
	double more = (double)base * growth;

	return more < (double)(UINT64_MAX - base) ? base + (u64)more : UINT64_MAX;
}

/* Its limits, then those of growth. */
static int check_budget(struct check *self, u32 number, struct err *err)
{
	const struct budget *budget = &self->query.budgets->list.data[number];
	int status = 0;

	for (u32 i = 0; i < 2 * COMPARE_METRICS && status == 0; i++) {
		u32 metric = i % COMPARE_METRICS;
		struct check_row row = {.budget = number,
					.metric = (enum compare_metric)metric,
					.growth = i >= COMPARE_METRICS,
					.limit = budget->max[metric],
					.value = self->values.data[number].value[metric]};

		if (row.growth) {
			row.base = self->base.data[number].value[metric];
			row.limit = grown_limit(row.base, budget->growth);
		}
		if (row.growth ? budget->has_growth && budget->growth_of >> metric & 1
			       : budget->has[metric])
			status = add_row(self, row, err);
	}
	return status;
}

static int measure_baseline(struct check *self, struct err *err)
{
	u64 count = self->query.budgets->list.count;
	struct budget_set *sets = calloc(count, sizeof *sets);
	int status = sets ? budget_measure(self->query.budgets, self->query.baseline, sets,
					   self->base.data, err)
			  : err_memory_for(err, "budgets");

	if (sets)
		budget_sets_release(sets, count);
	free(sets);
	return status;
}

int check_run(struct check *self, const struct check_query *query, struct err *err)
{
	u64 count = query->budgets->list.count;
	int status;

	self->query = *query;
	if (budgets_have_growth(query->budgets) && !query->baseline)
		return err_set(err, ERR_USAGE,
			       "max-growth needs a baseline; give one with --baseline");
	if (!vec_extend(&self->values, count) || !vec_extend(&self->base, count) ||
	    !vec_extend(&self->sets, count))
		return err_memory_for(err, "budgets");
	status = budget_measure(query->budgets, &query->trace, self->sets.data, self->values.data,
				err);
	if (status == 0 && query->baseline)
		status = measure_baseline(self, err);
	for (u32 i = 0; i < count && status == 0; i++)
		status = check_budget(self, i, err);
	why_incomplete(&query->trace, &self->incomplete[0]);
	if (query->baseline)
		why_incomplete(query->baseline, &self->incomplete[1]);
	self->failed = self->over || (!query->allow_incomplete &&
				      (self->incomplete[0].count || self->incomplete[1].count));
	return status;
}

void check_release(struct check *self)
{
	budget_sets_release(self->sets.data, self->sets.count);
	vec_release(&self->sets);
	vec_release(&self->values);
	vec_release(&self->base);
	vec_release(&self->rows);
	vec_release(&self->culprits);
	strbuf_release(&self->incomplete[0]);
	strbuf_release(&self->incomplete[1]);
}
