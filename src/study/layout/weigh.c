/* SPDX-License-Identifier: MIT
 * Metrics of allocation points.
 * Host. Reads the model only. */
#include "study/layout/weigh.h"

#include <pthread.h>
#include <string.h>

#include "study/analysis/leaks/leaks.h"
#include "study/analysis/resident/resident.h"
#include "study/layout/divide.h"
#include "study/layout/moments.h"
#include "study/layout/slots.h"
#include "study/model/durations.h"
#include "study/model/order.h"

static const struct {
	const char *name, *unit;
} metrics[METRICS] = {
	[METRIC_ALLOCS] = {"allocs", "count"},      [METRIC_BYTES] = {"bytes", "bytes"},
	[METRIC_PEAK] = {"peak", "bytes"},          [METRIC_LIVE] = {"live", "bytes"},
	[METRIC_KEPT] = {"kept", "bytes"},          [METRIC_TEMPORARY] = {"temporary", "count"},
	[METRIC_ALLOC_TIME] = {"alloc_time", "ns"}, [METRIC_CHUNKS_LIVE] = {"chunks_live", "count"},
	[METRIC_LOST] = {"lost", "bytes"},          [METRIC_IDLE] = {"idle", "byte_seconds"},
	[METRIC_RESIDENT] = {"resident", "bytes"},
};

bool view_metric_parse(const char *word, enum view_metric *metric)
{
	if (strcmp(word, "leaked") == 0) /* its former name */
		word = "kept";
	for (u32 i = 0; i < METRICS; i++)
		if (strcmp(metrics[i].name, word) == 0) {
			*metric = (enum view_metric)i;
			return true;
		}
	return false;
}

const char *view_metric_name(enum view_metric metric) { return metrics[metric].name; }
const char *view_metric_unit(enum view_metric metric) { return metrics[metric].unit; }

const char *view_metric_missing(const struct model *model, enum view_metric metric)
{
	if (metric == METRIC_IDLE && !model->has_access)
		return "no accesses were recorded, so unused memory is unknown; record with "
		       "--access valgrind, or build with 'heapwise cc'";
	/* once sums stand for events it is not known which chunks were freed */
	if (metric == METRIC_LOST && (model->scan.state != SCAN_DONE || model->aggregated))
		return "the trace has no leak scan, so lost memory is unknown; metric 'kept' has "
		       "what was never freed";
	if (metric == METRIC_RESIDENT && !model->memory.count)
		return "no look at resident memory was recorded; record a longer run, or with the "
		       "leak scan";
	return NULL;
}

/* From the sums that the model has: no chunk is looked at. */
static bool weigh_whole(const struct view_scope *self, enum view_metric metric, double *values)
{
	const struct model *model = self->trace->model;
	double units = (double)(1ull << model->count_shift);
	bool exec = model_keeps_nothing(model);
	struct call_costs costs;

	if (!view_is_all(self))
		return false;
	call_costs_find(&costs, model);
	for (u64 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];

		switch (metric) {
		case METRIC_ALLOCS: values[i] = (double)point->allocations / units; break;
		case METRIC_BYTES: values[i] = (double)point->bytes; break;
		case METRIC_PEAK: values[i] = (double)point->at_peak_bytes; break;
		case METRIC_KEPT: values[i] = exec ? 0 : (double)point->live_bytes; break;
		case METRIC_TEMPORARY: values[i] = (double)point->temporary / units; break;
		case METRIC_ALLOC_TIME:
			values[i] = (double)point->allocations / units * costs.ns[point->kind] +
				    (double)point->frees / units * costs.freed_ns;
			break;
		case METRIC_LIVE:
		case METRIC_CHUNKS_LIVE:
		case METRIC_LOST:
		case METRIC_IDLE:
		case METRIC_RESIDENT:
		case METRICS: return false;
		}
	}
	return true;
}

struct weighing {
	const struct view_scope *scope;
	enum view_metric metric;
	u64 limit_ticks;         /* live: events before this have happened */
	struct accounting pages; /* resident: the look; each part has its work */
	double units;
	struct call_costs costs;
};

/* Time of a chunk's life in which nobody used it, s; what was not measured, or ended at a time that
 * is not known, is not known to be unused. */
static double idle_seconds(const struct view_scope *scope, const struct view_chunk *chunk)
{
	const struct model *model = scope->trace->model;
	u64 life = view_life_ticks(scope, chunk), used = 0;
	struct chunk_access access;

	if (!model_chunk_access(model, chunk->number, &access) || access.flags & ACCESS_LATER)
		return 0;
	if (access.first_ticks && access.last_ticks > access.first_ticks)
		used = access.last_ticks - access.first_ticks;
	return tick_clock_span_ns(&model->clock, (double)(life - (used < life ? used : life))) /
	       1e9;
}

/* The part of the bytes, which the chunk stands for, that is resident. */
static double resident_weight(struct weighing *self, const struct view_chunk *chunk, u64 bytes)
{
	u64 size = chunk->page->size[chunk->at], start = chunk->page->address[chunk->at];
	u64 found;

	if (!size || !view_is_live(chunk, self->limit_ticks))
		return 0;
	found = accounting_bytes(&self->pages, start, start + size);
	return (double)bytes * ((double)found / (double)size);
}

static double chunk_weight(struct weighing *self, const struct view_chunk *chunk)
{
	u64 units, bytes;

	view_weigh_chunk(self->scope, chunk, &units, &bytes);
	switch (self->metric) {
	case METRIC_ALLOCS: return (double)units / self->units;
	case METRIC_BYTES: return (double)bytes;
	case METRIC_KEPT:
		if (!self->scope->window.to_ns)
			return view_is_kept(chunk) ? (double)bytes : 0;
		return view_is_live(chunk, self->limit_ticks) ? (double)bytes : 0;
	case METRIC_PEAK:
	case METRIC_LIVE: return view_is_live(chunk, self->limit_ticks) ? (double)bytes : 0;
	case METRIC_CHUNKS_LIVE:
		return view_is_live(chunk, self->limit_ticks) ? (double)units / self->units : 0;
	case METRIC_TEMPORARY:
		return view_is_freed(chunk) && !chunk->page->others[chunk->at]
			       ? (double)units / self->units
			       : 0;
	case METRIC_ALLOC_TIME:
		return (double)units / self->units *
		       (self->costs.ns[chunk->page->kind[chunk->at]] +
			(view_is_freed(chunk) ? self->costs.freed_ns : 0));
	case METRIC_LOST:
		return view_is_kept(chunk) && leak_is_certain(chunk->page->chunk_class[chunk->at])
			       ? (double)bytes
			       : 0;
	case METRIC_IDLE: return (double)bytes * idle_seconds(self->scope, chunk);
	case METRIC_RESIDENT: return resident_weight(self, chunk, bytes);
	case METRICS: break;
	}
	return 0;
}

static int weigh_part(void *data, const struct view_part *part, struct err *err)
{
	struct weighing own = *(const struct weighing *)data, *self = &own;
	double *values = part->room;
	bool at_moment = self->metric == METRIC_LIVE || self->metric == METRIC_CHUNKS_LIVE ||
			 self->metric == METRIC_PEAK || self->metric == METRIC_RESIDENT;

	for (u64 page = part->first / CHUNK_PAGE; page < part->end / CHUNK_PAGE; page++) {
		u64 at = page * CHUNK_PAGE;
		struct view_chunk chunk;

		if (at_moment && view_page_is_dead(self->scope, page, self->limit_ticks))
			continue;
		model_pass(self->scope->trace->model, page * CHUNK_PAGE);
		if (view_check(self->scope, err) < 0)
			return err->code;
		while (at < (page + 1) * CHUNK_PAGE && view_next(self->scope, &at, &chunk)) {
			if (chunk.number >= (page + 1) * CHUNK_PAGE)
				break;
			values[view_point_of(self->scope, &chunk).index] +=
				chunk_weight(self, &chunk);
		}
	}
	return 0;
}

/* Each part has sums of its own, which are added up at the end. */
static int weigh_chunks(struct weighing *self, double *values, struct err *err)
{
	u64 points = self->scope->trace->model->points.count;
	struct view_division division = {.parts = view_parts(self->scope),
					 .bytes = points * sizeof *values,
					 .what = "the points"};
	int status = view_divide(self->scope, &division, weigh_part, self, err);

	view_division_sum(&division, values, points);
	return status;
}

/* What was live at the moment that was asked for last. Who drags along the time asks for one beside
 * it next. */
struct last_moment {
	pthread_mutex_t lock; /* for the others */
	u64 event;            /* ORDER_NONE = nothing was asked for */
	struct point_live *points;
};

static void moment_free(void *self_)
{
	struct last_moment *self = self_;

	free(self->points);
	free(self);
}

static void *moment_make(struct study *trace, u32 slot, struct err *err)
{
	struct last_moment *self = calloc(1, sizeof *self);

	(void)slot;
	if (self)
		self->points = calloc(trace->model->points.count + 1, sizeof *self->points);
	if (!self || !self->points) {
		free(self);
		err_memory_for(err, "the points");
		return NULL;
	}
	pthread_mutex_init(&self->lock, NULL);
	self->event = ORDER_NONE;
	return self;
}

/* Whether the metric is about a moment for which the order of events says all. */
static bool order_knows(const struct weighing *self, u64 at_ns)
{
	const struct query_window *window = &self->scope->window;

	if (!view_has_order(self->scope))
		return false;
	if (self->metric == METRIC_LIVE || self->metric == METRIC_CHUNKS_LIVE)
		return !window->to_ns || (at_ns >= window->from_ns && at_ns <= window->to_ns);
	return self->metric == METRIC_PEAK || (self->metric == METRIC_KEPT && window->to_ns);
}

static int weigh_order(const struct weighing *self, double *values, struct err *err)
{
	struct study *trace = self->scope->trace;
	const struct model *model = trace->model;
	struct last_moment *last = study_slot(trace, SLOT_MOMENT, moment_make, moment_free, err);
	u64 event = order_find(model, self->limit_ticks);

	if (!last)
		return err->code;
	pthread_mutex_lock(&last->lock);
	order_points(model, event, last->event, last->points);
	last->event = event;
	for (u64 i = 0; i < model->points.count; i++)
		values[i] = self->metric == METRIC_CHUNKS_LIVE
				    ? (double)last->points[i].units / self->units
				    : (double)last->points[i].bytes;
	pthread_mutex_unlock(&last->lock);
	return 0;
}

/* The look of the scope's time at which most was resident; NULL = there was none. */
static const struct model_memory *look_find(const struct view_scope *scope)
{
	const struct tick_clock *clock = &scope->trace->model->clock;

	if (!scope->window.to_ns)
		return resident_most(scope->trace->model, 0, UINT64_MAX);
	return resident_most(scope->trace->model, tick_clock_ticks(clock, scope->window.from_ns),
			     tick_clock_ticks(clock, scope->window.to_ns + 1));
}

/* Which moment the metric is about. */
static int moment_find(struct weighing *self, u64 *at_ns, struct err *err)
{
	const struct view_scope *scope = self->scope;
	const struct model *model = scope->trace->model;
	u64 ticks = model->totals.peak_ticks, peak_bytes;

	if (self->metric != METRIC_PEAK && self->metric != METRIC_RESIDENT) {
		u64 ns = self->metric == METRIC_KEPT ? scope->window.to_ns : *at_ns;

		self->limit_ticks = tick_clock_ticks(&model->clock, ns + 1);
		return 0;
	}
	if (self->metric == METRIC_PEAK && !view_is_all(scope) &&
	    view_peak(scope, &peak_bytes, &ticks, err) < 0)
		return err->code;
	if (self->metric == METRIC_RESIDENT) {
		const struct model_memory *look = look_find(scope);

		if (!look)
			return err_set(err, ERR_USAGE,
				       "no look at resident memory is in this window of time; "
				       "choose a wider one");
		self->pages = accounting_of(model, look);
		ticks = look->ticks;
	}
	self->limit_ticks = ticks + 1;
	*at_ns = tick_clock_ns(&model->clock, ticks);
	return 0;
}

int view_weigh(const struct view_scope *self, enum view_metric metric, u64 *at_ns, double *values,
	       struct err *err)
{
	const struct model *model = self->trace->model;
	const char *missing = view_metric_missing(model, metric);
	struct weighing weighing = {.scope = self,
				    .metric = metric,
				    .units = (double)(1ull << model->count_shift)};

	memset(values, 0, model->points.count * sizeof *values);
	if (missing)
		return err_set(err, ERR_USAGE, "%s", missing);
	if (moment_find(&weighing, at_ns, err) < 0)
		return err->code;
	if (weigh_whole(self, metric, values))
		return 0;
	call_costs_find(&weighing.costs, model);
	return order_knows(&weighing, *at_ns) ? weigh_order(&weighing, values, err)
					      : weigh_chunks(&weighing, values, err);
}
