/* SPDX-License-Identifier: MIT
 * What each budget is about, and how much that is.
 * Host. Sums come from the model; the peak of a part of the program is followed through the events,
 * in their order, because times are shared by several. */
#include <stdlib.h>
#include <string.h>

#include "study/analysis/budget/budget.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/places/suppressions.h"
#include "study/model/each.h"

/* ---- which points ---- */

static bool frame_matches(const struct budget *budget, const struct stack_source *source, u32 index)
{
	struct stack_names names = stack_names(source, (struct frame_id){index});

	for (u32 i = 0; i < names.count; i++)
		if (*names.frames[i].function && budget_matches(budget, names.frames[i].function))
			return true;
	return false;
}

static bool place_matches(const struct budget *budget, const struct stack_source *source,
			  struct frame_id frame)
{
	struct finding_place place = finding_place(source, frame);
	const char *name = budget->scope == BUDGET_FILE ? place.own.file : place.own.module;

	return *name && budget_matches(budget, name);
}

bool budget_has_stack(const struct budget *self, const struct stack_source *source,
		      struct frame_id frame)
{
	if (self->scope == BUDGET_PROGRAM)
		return true;
	if (self->scope != BUDGET_FUNCTION)
		return place_matches(self, source, frame);
	for (u32 at = frame.index; at;) {
		if (frame_matches(self, source, at))
			return true;
		at = context_table_frame(&source->model->contexts, (struct frame_id){at})->parent;
	}
	return false;
}

/* By frame: whether it or a caller matches. A frame's caller was placed before it. */
static u8 *frames_below(const struct budget *budget, const struct stack_source *source)
{
	const struct context_table *contexts = &source->model->contexts;
	u8 *below = calloc(contexts->frames.count + 1, 1);

	for (u32 i = 1; below && i < contexts->frames.count; i++)
		below[i] =
			below[contexts->frames.data[i].parent] || frame_matches(budget, source, i);
	return below;
}

static bool set_points(struct budget_set *self, const struct budget *budget,
		       const struct stack_source *source)
{
	const struct model *model = source->model;
	u8 *below = budget->scope == BUDGET_FUNCTION ? frames_below(budget, source) : NULL;

	if (budget->scope == BUDGET_FUNCTION && !below)
		return false;
	self->by_point = calloc(model->points.count + 1, 1);
	for (u64 i = 0; self->by_point && i < model->points.count; i++) {
		struct frame_id frame = model->points.data[i].frame;

		self->by_point[i] =
			below ? below[frame.index] : place_matches(budget, source, frame);
		self->matched |= self->by_point[i];
	}
	free(below);
	return self->by_point != NULL;
}

/* ---- which chunks ---- */

static bool set_chunks(struct budget_set *self, const struct budget *budget,
		       const struct budget_trace *trace)
{
	const struct model *model = trace->source->model;

	self->by_chunk = calloc(model->chunks.count / 64 + 1, sizeof *self->by_chunk);
	if (!self->by_chunk)
		return false;
	EACH_CHUNK (chunk, model) {
		struct type_answer answer = type_of_chunk(trace->types, chunk.number);

		if (!answer.name || !budget_matches(budget, answer.name))
			continue;
		self->by_chunk[chunk.number / 64] |= 1ull << chunk.number % 64;
		self->matched = true;
	}
	return !trace->types->failed;
}

bool budget_set_has(const struct budget_set *self, const struct model *model, u64 chunk)
{
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);

	if (self->by_chunk)
		return self->by_chunk[chunk / 64] >> chunk % 64 & 1;
	return !self->by_point ||
	       self->by_point[model_point_of(model, page->alloc_context[chunk % CHUNK_PAGE]).index];
}

void budget_sets_release(struct budget_set *sets, u64 count)
{
	for (u64 i = 0; i < count; i++) {
		free(sets[i].by_point);
		free(sets[i].by_chunk);
		free(sets[i].hidden);
		sets[i] = (struct budget_set){0};
	}
}

/* ---- what libraries keep on purpose ---- */

/* As for leaks: buffers of stdio and the like are nobody's fault, and every program would be above
 * 0. */
static int find_hidden(struct budget_set *self, const struct stack_source *source, struct err *err)
{
	const struct model *model = source->model;
	struct suppressions known = {0};
	int status = suppressions_add_builtin(&known, err);

	self->hidden = calloc(model->points.count + 1, 1);
	if (status == 0 && !self->hidden)
		status = err_memory_for(err, "budgets");
	for (u64 i = 0; status == 0 && i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];

		if (!point->live_bytes ||
		    suppressions_find(&known, source, point->frame) == NOT_SUPPRESSED)
			continue;
		self->hidden[i] = 1;
		self->hidden_bytes += compare_sums_of_point(model, point).value[COMPARE_KEPT];
	}
	suppressions_release(&known);
	return status;
}

/* ---- sums ---- */

static void add_chunk(const struct chunk *chunk, struct compare_sums *to)
{
	u64 units, bytes;

	model_weigh(chunk->model, chunk->page->size[chunk->at], &units, &bytes);
	to->value[COMPARE_BYTES] += bytes;
	to->value[COMPARE_ALLOCATIONS] += units;
	if (chunk_is_kept(chunk))
		to->value[COMPARE_KEPT] += bytes;
	else if (chunk_is_freed(chunk) && chunk->page->others[chunk->at] == 0)
		to->value[COMPARE_TEMPORARY] += units;
}

static struct compare_sums sums_of(const struct budget_set *set, const u8 *hidden,
				   const struct model *model)
{
	struct compare_sums sums = {0};

	for (u64 i = 0; set->by_point && i < model->points.count; i++)
		if (set->by_point[i]) {
			struct compare_sums one =
				compare_sums_of_point(model, &model->points.data[i]);

			if (hidden[i])
				one.value[COMPARE_KEPT] = 0;
			compare_sums_add(&sums, &one);
		}
	if (set->by_chunk)
		EACH_CHUNK (chunk, model, .words = set->by_chunk)
			add_chunk(&chunk, &sums);
	compare_sums_settle(model, &sums);
	sums.value[COMPARE_PEAK] = 0; /* to be followed */
	return sums;
}

/* ---- peaks of parts ---- */

struct meter {
	const struct model *model;
	const struct budget_set *sets;
	u64 count;
	i64 *live;
	struct compare_sums *values;
};

static int meter_events(void *data, const struct event *events, u64 count, struct err *err)
{
	const struct meter *self = data;

	(void)err;
	for (u64 i = 0; i < count; i++) {
		const struct event *event = &events[i];
		bool allocates = hw_kind_allocates(event->kind);
		u64 units, bytes;

		if ((!allocates && !hw_kind_frees(event->kind)) ||
		    event->chunk >= self->model->chunks.count ||
		    chunk_end(&self->model->chunks, event->chunk) == CHUNK_ABSENT)
			continue;
		model_weigh(self->model, event->size, &units, &bytes);
		for (u64 k = 1; k < self->count; k++) {
			u64 *peak = &self->values[k].value[COMPARE_PEAK];

			if (!budget_set_has(&self->sets[k], self->model, event->chunk))
				continue;
			self->live[k] += allocates ? (i64)bytes : -(i64)bytes;
			if (self->live[k] > (i64)*peak)
				*peak = (u64)self->live[k];
		}
	}
	return 0;
}

static int follow_peaks(const struct budgets *budgets, const struct budget_trace *trace,
			struct budget_set *sets, struct compare_sums *values, struct err *err)
{
	struct meter meter = {.model = trace->source->model,
			      .sets = sets,
			      .count = budgets->list.count,
			      .live = calloc(budgets->list.count + 1, sizeof(i64)),
			      .values = values};
	struct stream_sink sink = {.self = &meter, .events = meter_events};
	int status;

	if (!meter.live)
		return err_memory_for(err, "budgets");
	status = trace->stream(trace->stream_self, &sink, err);
	free(meter.live);
	return status;
}

static bool wants_peak(const struct budgets *budgets)
{
	for (u64 i = 1; i < budgets->list.count; i++)
		if (budgets->list.data[i].has[COMPARE_PEAK] || budgets->list.data[i].has_growth)
			return true;
	return false;
}

bool budgets_need_chunks(const struct budgets *self)
{
	return budgets_have_types(self) || wants_peak(self);
}

int budget_measure(const struct budgets *budgets, const struct budget_trace *trace,
		   struct budget_set *sets, struct compare_sums *values, struct err *err)
{
	const struct model *model = trace->source->model;
	int status;

	values[0] = compare_sums_of_all(model);
	compare_sums_settle(model, &values[0]);
	sets[0].matched = true;
	status = find_hidden(&sets[0], trace->source, err);
	if (status < 0)
		return status;
	values[0].value[COMPARE_KEPT] -= sets[0].hidden_bytes;
	for (u64 i = 1; i < budgets->list.count; i++) {
		const struct budget *budget = &budgets->list.data[i];
		bool done = budget->scope == BUDGET_TYPE
				    ? set_chunks(&sets[i], budget, trace)
				    : set_points(&sets[i], budget, trace->source);

		if (!done)
			return err_memory_for(err, "budgets");
		values[i] = sums_of(&sets[i], sets[0].hidden, model);
	}
	return wants_peak(budgets) ? follow_peaks(budgets, trace, sets, values, err) : 0;
}
