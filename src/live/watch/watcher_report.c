/* SPDX-License-Identifier: MIT
 * What a watcher tells at each interval. All but watcher_take runs on the drain thread. */
#include "host/base/order.h"
#include "host/base/search.h"
#include "live/watch/watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/base/clock.h"
#include "live/watch/watcher_state.h"

static const u64 SECOND = 1000000000;

/* NULL: it was not there yet. */
static const struct stream_class *class_of(const struct watcher *self, const struct area *area)
{
	u64 low = bisect(at, self->classes.rows.count,
			 self->classes.rows.data[at].chunk < area->chunk);

	return low < self->classes.rows.count && self->classes.rows.data[low].chunk == area->chunk
		       ? &self->classes.rows.data[low]
		       : NULL;
}

bool watcher_is_scanned(const struct watcher *self, const struct area *area)
{
	return class_of(self, area);
}

bool watcher_is_lost(const struct watcher *self, const struct area *area)
{
	const struct stream_class *found = class_of(self, area);

	return found && (found->chunk_class == CLASS_LOST || found->chunk_class == CLASS_INDIRECT);
}

/* What was reachable because it was in use may have been lost since. */
static bool wants_scan(const struct watcher *self, const struct area *area)
{
	return !watcher_is_lost(self, area) &&
	       area->seen_ns + self->options.policy.leak_after_ns > self->scan_at_ns;
}

static u32 age_bin(u64 age_ns)
{
	u32 bin = 0;

	for (u64 limit = SECOND; bin < WATCH_AGES - 1 && age_ns >= limit; limit *= 2)
		bin++;
	return bin;
}

/* A touch is known to the moment if it was just seen, or if the area was watched for most of the
 * time since then. Else it is somewhere in a time in which nobody would have noticed. */
static void count_age(struct watch_report *report, const struct area *area, u64 age, u64 idle)
{
	if (age >= SECOND && idle < age / 2) {
		report->unknown_areas++;
		report->unknown_bytes += area->size;
	} else {
		report->ages[age_bin(idle)]++;
		report->age_bytes[age_bin(idle)] += area->size;
	}
	if (age < report->interval_ns)
		report->working_bytes += area->size;
	else if (idle < report->interval_ns)
		report->working_unknown_bytes += area->size;
}

static void row_add(struct watcher *self, u32 context, const struct areas_point *live)
{
	struct frame *frame = &self->frames.data[context];
	u64 before = frame->report + 1 == (u32)self->reports ? frame->bytes : 0;
	struct point_sum row = {
		.context = context,
		.number = frame->point - !!frame->point,
		.areas = live->areas,
		.bytes = live->bytes,
		.hits = live->hits,
		.growth_bytes = (i64)(live->bytes - before),
	};

	if (!vec_push(&self->rows, row))
		return;
	frame->row = (u32)self->rows.count - 1;
	frame->report = (u32)self->reports;
}

/* One for each point with live areas. */
static void rows_make(struct watcher *self)
{
	vec_clear(&self->rows);
	if (!vec_extend(&self->frames, self->areas.points.count))
		return;
	for (u64 i = 0; i < self->areas.points.count; i++)
		if (self->areas.points.data[i].areas)
			row_add(self, (u32)i, &self->areas.points.data[i]);
}

static struct point_sum *row_of(struct watcher *self, u32 context)
{
	const struct frame *frame =
		context < self->frames.count ? &self->frames.data[context] : NULL;

	return frame && frame->report == (u32)self->reports ? &self->rows.data[frame->row] : NULL;
}

static void ranking_add(struct ranking *self, const struct area *area, double key)
{
	u32 at = self->count;

	if (at == WATCH_ROWS && self->row[at - 1].key >= key)
		return;
	if (at == WATCH_ROWS)
		at--;
	else
		self->count++;
	for (; at && self->row[at - 1].key < key; at--)
		self->row[at] = self->row[at - 1];
	self->row[at].area = area;
	self->row[at].key = key;
}

/* Areas that were touched, the most rarely touched first. What lives for less than a second tells
 * nothing of that. */
static void rare_add(struct watcher *self, const struct area *area, u64 now)
{
	u64 life = now - area->birth_ns, watched = unit_watched(area->unit, now);

	if (life >= SECOND)
		ranking_add(&self->rare, area,
			    -(double)area->hits * 1e9 /
				    (double)(watched < life && watched ? watched : life + 1));
}

static struct watch_area area_tell(const struct area *area, u64 age_ns, u64 now)
{
	return (struct watch_area){
		.address = area->address,
		.size = area->size,
		.age_ns = age_ns,
		.life_ns = now - area->birth_ns,
		.hits = area->hits,
		.context = area->context,
		.hit_context = area->hit_context,
	};
}

/* The type of an area that was looked into is that of its point. */
static void types_note(struct watcher *self)
{
	for (u64 i = 0; self->types_told && i < self->areas.list.count; i++) {
		const struct area *area = self->areas.list.data[i];
		const u64 *type = map_find(&self->types, area->chunk);

		if (type)
			map_put(&self->point_types, area->context, *type);
	}
	self->types_told = false;
}

static void count_area(struct watcher *self, struct watch_report *report, const struct area *area)
{
	u64 now = report->now_ns, age = area_age(area, now), idle = area_idle(area, now);
	struct point_sum *point;

	count_age(report, area, age, idle);
	if (idle)
		ranking_add(&self->oldest, area, (double)idle);
	if (idle < self->options.policy.leak_after_ns)
		return;
	point = row_of(self, area->context);
	if (!point)
		return;
	point->stale_areas++;
	point->stale_bytes += area->size;
	point->oldest_ns = idle > point->oldest_ns ? idle : point->oldest_ns;
	report->stale_areas++;
	report->stale_bytes += area->size;
	self->suspects_unknown += wants_scan(self, area);
	point->unknown_areas += !watcher_is_scanned(self, area);
	point->lost_areas += watcher_is_lost(self, area);
	report->lost_areas += watcher_is_lost(self, area);
	report->lost_bytes += watcher_is_lost(self, area) ? area->size : 0;
}

/* Of a unit that is not armed, and of which nothing was seen for long, nothing is known: that is
 * most of a large program, and none of its areas is looked at. */
static void count_unit(struct watcher *self, struct watch_report *report, const struct unit *unit)
{
	u64 age = report->now_ns > unit->last_ns ? report->now_ns - unit->last_ns : 0;

	report->thresholds[policy_state(&self->policy, unit)]++;
	if (unit->armed || age < SECOND || age < report->interval_ns) {
		for (const struct area *area = unit->first; area; area = area->next)
			count_area(self, report, area);
		return;
	}
	report->unknown_areas += unit->areas;
	report->unknown_bytes += unit->bytes;
	report->working_unknown_bytes += report->interval_ns ? unit->bytes : 0;
}

static void count_areas(struct watcher *self, struct watch_report *report)
{
	const struct areas *areas = &self->areas;

	memcpy(report->sizes, areas->sizes, sizeof(report->sizes));
	self->suspects_unknown = 0;
	self->oldest.count = self->rare.count = 0;
	for (u64 i = 0; i < areas->units.count; i++)
		count_unit(self, report, areas->units.data[i]);
	for (u64 at = 0, key, value; map_next(&areas->others, &at, &key, &value);)
		count_area(self, report, (const struct area *)value);
	for (u64 i = 0; i < areas->touched.count; i++)
		rare_add(self, areas->touched.data[i], report->now_ns);
}

static void frame_fill(const struct watcher *self, u64 pc, struct watch_frame *frame)
{
	*frame = (struct watch_frame){.pc = pc};
	for (u64 i = self->modules.count; i-- > 0;) {
		const struct known_module *module = &self->modules.data[i];

		if (pc - module->start >= module->end - module->start)
			continue;
		snprintf(frame->module, sizeof(frame->module), "%s", module->path);
		frame->offset = pc - module->base - 1;
		return;
	}
}

void watcher_stack(const struct watcher *self, u32 context, struct watch_stack *stack)
{
	while (context && context < self->frames.count && stack->frames < WATCH_FRAMES) {
		const struct frame *frame = &self->frames.data[context];

		if (frame->pc >= HW_GENERATION_LIMIT)
			frame_fill(self, frame->pc, &stack->frame[stack->frames++]);
		context = frame->parent;
	}
}

static void point_tell(const struct watcher *self, const struct point_sum *sum,
		       struct watch_point *point)
{
	*point = (struct watch_point){
		.context = sum->context,
		.number = sum->number,
		.areas = sum->areas,
		.bytes = sum->bytes,
		.stale_areas = sum->stale_areas,
		.stale_bytes = sum->stale_bytes,
		.lost_areas = sum->lost_areas,
		.unknown_areas = sum->unknown_areas,
		.oldest_ns = sum->oldest_ns,
		.hits = sum->hits,
		.growth_bytes = sum->growth_bytes,
		.type = sum->type,
	};
	watcher_stack(self, sum->context, &point->stack);
	if (sum->type)
		frame_fill(self, sum->type + 1, &point->type_at);
}

/* What a row is chosen by; 0 or less: it is not. */
static i64 by_stale(const struct point_sum *row)
{
	return row->stale_areas ? 1 + (i64)row->stale_bytes : 0;
}
static i64 by_growth(const struct point_sum *row) { return row->growth_bytes; }
static i64 by_bytes(const struct point_sum *row) { return 1 + (i64)row->bytes; }

/* Tells the rows with most of it, in that order; how many. */
static u32 rows_take(const struct watcher *self, i64 (*key)(const struct point_sum *),
		     struct watch_point *points, u32 most)
{
	const struct point_sum *best[WATCH_ROWS];
	u32 count = 0;

	for (u64 i = 0; i < self->rows.count; i++) {
		const struct point_sum *row = &self->rows.data[i];
		u32 at = count;

		if (key(row) <= 0 || (at == most && key(best[at - 1]) >= key(row)))
			continue;
		if (at == most)
			at--;
		else
			count++;
		for (; at && key(best[at - 1]) < key(row); at--)
			best[at] = best[at - 1];
		best[at] = row;
	}
	for (u32 i = 0; i < count; i++)
		point_tell(self, best[i], &points[i]);
	return count;
}
_Static_assert(WATCH_TOP <= WATCH_ROWS, "rows_take has room for these");

static u64 pc_of(const struct watcher *self, u32 context)
{
	return context < self->frames.count ? self->frames.data[context].pc : 0;
}

static void top_take(const struct watcher *self, struct watch_report *report)
{
	report->top_count = rows_take(self, by_bytes, report->top, WATCH_TOP);
	for (u32 i = 0; i < report->top_count; i++) {
		struct watch_point *row = &report->top[i];
		u64 pc = pc_of(self, row->context);

		for (u64 k = 0; k < self->rows.count; k++)
			if (pc_of(self, self->rows.data[k].context) == pc)
				row->line_bytes += self->rows.data[k].bytes;
	}
}

static int by_stale_type(const void *a, const void *b)
{
	const struct watch_type *x = a, *y = b;

	return falling(x->stale_bytes, y->stale_bytes);
}

/* Types are few; beyond WATCH_ROWS of them the rest is not told. */
static void count_types(struct watcher *self, struct watch_report *report)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		struct point_sum *row = &self->rows.data[i];
		const u64 *type = map_find(&self->point_types, row->context);
		u32 at = 0;

		row->type = type ? *type : 0;
		if (!row->stale_areas)
			continue;
		while (at < report->types_count && report->types[at].type != row->type)
			at++;
		if (at == WATCH_ROWS)
			continue;
		if (at == report->types_count) {
			report->types[report->types_count++] =
				(struct watch_type){.type = row->type};
			if (row->type)
				frame_fill(self, row->type + 1, &report->types[at].at);
		}
		report->types[at].stale_areas += row->stale_areas;
		report->types[at].stale_bytes += row->stale_bytes;
		report->types[at].lost_areas += row->lost_areas;
	}
	qsort(report->types, report->types_count, sizeof(report->types[0]), by_stale_type);
}

static void count_points(struct watcher *self, struct watch_report *report)
{
	count_types(self, report);
	for (u64 i = 0; i < self->rows.count; i++)
		self->frames.data[self->rows.data[i].context].bytes = self->rows.data[i].bytes;
	report->points = self->rows.count;
	top_take(self, report);
	report->suspects_count = rows_take(self, by_stale, report->suspects, WATCH_ROWS);
	report->growth_count = rows_take(self, by_growth, report->growth, WATCH_ROWS);
}

static void areas_take(const struct watcher *self, struct watch_report *report)
{
	u64 now = report->now_ns;

	report->oldest_count = self->oldest.count;
	for (u32 i = 0; i < self->oldest.count; i++) {
		report->oldest[i] =
			area_tell(self->oldest.row[i].area, (u64)self->oldest.row[i].key, now);
		watcher_stack(self, report->oldest[i].hit_context, &report->oldest[i].touched);
	}
	report->rare_count = self->rare.count;
	for (u32 i = 0; i < self->rare.count; i++) {
		const struct area *area = self->rare.row[i].area;

		report->rare[i] = area_tell(area, area_age(area, now), now);
		report->rare[i].rate = -self->rare.row[i].key;
		watcher_stack(self, report->rare[i].hit_context, &report->rare[i].touched);
		watcher_stack(self, report->rare[i].context, &report->rare[i].made);
	}
}

static void count_cost(struct watcher *self, struct watch_report *report)
{
	report->units = self->areas.units.count;
	report->armed_units = self->areas.armed_units;
	report->armed_areas = self->areas.armed_areas;
	report->armed_bytes = self->areas.armed_bytes;
	report->hits = self->hits + self->kernel_hits;
	report->floods = self->floods;
	report->around = self->around;
	report->armed_byte_s = self->armed_byte_s;
	report->live_byte_s = self->live_byte_s;
	report->kernel_hits = self->kernel_hits;
	report->arms = self->cost.arms;
	report->refusals = self->requests.refusals + self->requests.full;
	report->cost_ns = self->cost.cost_ns;
	report->cpu_ns = self->cost.cpu_ns;
	report->arming_ns = self->cost.arm_ns;
	report->opening_ns = self->cost.open_ns;
	report->calls_ns = self->calls_ns < self->cost.cpu_ns ? self->calls_ns : self->cost.cpu_ns;
	report->monitor_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	report->interval_cost_ns = self->cost.cost_ns - self->cost_before.cost_ns;
	report->interval_cpu_ns = self->cost.cpu_ns - self->cost_before.cpu_ns;
	self->cost_before = self->cost;
}

/* On a busy machine a report may come before the last one was taken, which it replaces: what that
 * counted is in this one. */
static void report_add(struct watch_report *report, const struct watch_report *before)
{
	report->interval_ns += before->interval_ns;
	report->mallocs += before->mallocs;
	report->frees += before->frees;
	report->reallocs += before->reallocs;
	report->interval_cost_ns += before->interval_cost_ns;
	report->interval_cpu_ns += before->interval_cpu_ns;
}

void watcher_report(struct watcher *self, u64 now, bool last)
{
	struct watch_report *report = &self->made;

	*report = (struct watch_report){
		.number = ++self->reports,
		.now_ns = now,
		.elapsed_ns = now - self->areas.start_ns,
		.interval_ns = now - self->last_report_ns,
		.mallocs = self->mallocs,
		.frees = self->frees,
		.reallocs = self->reallocs,
		.seen = self->seen,
		.live_areas = self->areas.list.count,
		.live_bytes = self->areas.live_bytes,
		.last = last,
		.pid = self->pid,
		.scanned = self->scanned,
		.scanned_ns = self->scan_at_ns ? self->scan_at_ns - self->areas.start_ns : 0,
		.main_returned = self->main_returned,
		.scans = self->scans,
		.pointer_scans = self->pointer_scans,
		.earlier_scans = self->earlier_scans,
		.scan_ns = self->scan_ns,
		.monitored = self->pages != NULL,
	};
	rows_make(self);
	types_note(self);
	count_areas(self, report);
	areas_take(self, report);
	count_points(self, report);
	count_cost(self, report);
	self->mallocs = self->frees = self->reallocs = 0;
	self->last_report_ns = now;
	pthread_mutex_lock(&self->lock);
	if (self->ready)
		report_add(report, &self->report);
	self->report = *report;
	self->ready = true;
	pthread_mutex_unlock(&self->lock);
}

bool watcher_take(struct watcher *self, struct watch_report *report)
{
	bool ready;

	pthread_mutex_lock(&self->lock);
	ready = self->ready;
	if (ready)
		*report = self->report;
	self->ready = false;
	pthread_mutex_unlock(&self->lock);
	return ready;
}
