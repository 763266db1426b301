/* SPDX-License-Identifier: MIT
 * From events and hits to reports; see watcher.h. All but watcher_take runs on the drain thread. */
#include "watch/watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/atomics.h"
#include "format/ticks.h"

static const u64 SECOND = 1000000000;

struct frame { /* by number of the context */
	u64 pc;
	u32 parent;
	u32 point; /* number + 1 of the allocation point that it is, 0 = none */
};

struct known_module {
	u64 base, start, end;
	char path[256];
};

struct watcher {
	struct watcher_options options;
	struct tap tap;
	struct areas areas;
	struct requests requests;
	struct policy policy;
	VEC(struct frame) frames;
	VEC(struct known_module) modules;
	struct map points_before;  /* context -> live bytes at the last report */
	struct map points;         /* context -> index in rows, while a report is made */
	VEC(struct watch_point) rows;
	struct map classes;        /* chunk -> enum chunk_class, once there was a scan */
	bool scanned;
	u64 mallocs, frees, reallocs;
	u64 next_tick_ns, next_report_ns, last_report_ns;
	const struct hw_pages *pages;
	struct policy_cost cost, cost_before;
	u64 kernel_hits;
	u64 reports;
	struct watch_report made;

	u32 point_count;

	pthread_mutex_t lock;
	bool ready; /* by the lock, and: */
	struct watch_report report;
	pthread_cond_t answered;
	struct question *question; /* of who waits; NULL = none */
	bool resting;
};

/* ---- events ---------------------------------------------------------------------------------- */

static int area_ends(struct watcher *self, const struct event *event, struct err *err)
{
	struct area *area = areas_find(&self->areas, event->address);
	bool ended;

	if (!area)
		return 0;
	areas_remove(&self->areas, area, &ended);
	if (ended && !requests_disarm_ended(&self->requests, event->address))
		return err_set(err, ERR_MEMORY, "out of memory for areas");
	return 0;
}

/* Points are counted as a model counts them: by their first allocation. */
static void point_count(struct watcher *self, u32 context)
{
	struct frame *frame = context < self->frames.count ? &self->frames.data[context] : NULL;

	if (!frame && !self->frames.count && vec_extend(&self->frames, 1))
		frame = &self->frames.data[0]; /* no stack is known yet */
	if (frame && !frame->point)
		frame->point = ++self->point_count;
}

static int on_event(struct watcher *self, const struct event *event, struct err *err)
{
	if (hw_kind_allocates(event->kind))
		point_count(self, event->context);
	if (hw_kind_is_pool(event->kind))
		return 0;
	if (hw_kind_allocates(event->kind)) {
		self->mallocs += event->kind != HW_REALLOC;
		self->reallocs += event->kind == HW_REALLOC;
		return areas_add(&self->areas, event) ? 0 : err_set(err, ERR_MEMORY, "out of memory for areas");
	}
	if (!hw_kind_frees(event->kind))
		return 0;
	self->frees += event->kind != HW_REALLOC_FREE;
	return area_ends(self, event, err);
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct watcher *self = data;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++)
		status = on_event(self, &events[i], err);
	return status;
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct watcher *self = data;

	(void)err;
	areas_reset(&self->areas, image->start_ticks, image->start_ns);
	policy_release(&self->policy);
	policy_init(&self->policy, &self->options.policy);
	vec_clear(&self->frames);
	self->point_count = 0;
	vec_clear(&self->modules);
	vec_clear(&self->requests.waiting);
	map_clear(&self->points_before);
	map_clear(&self->classes);
	self->scanned = false;
	self->pages = NULL;
	self->cost = self->cost_before = (struct policy_cost){0};
	self->last_report_ns = image->start_ns;
	self->next_report_ns = image->start_ns + self->options.interval_ns;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count, struct err *err)
{
	struct watcher *self = data;

	for (u64 i = 0; i < count; i++) {
		if (!vec_extend(&self->frames, (u64)contexts[i].id + 1))
			return err_set(err, ERR_MEMORY, "out of memory for contexts");
		self->frames.data[contexts[i].id].pc = contexts[i].pc;
		self->frames.data[contexts[i].id].parent = contexts[i].parent;
	}
	return 0;
}

static int on_module(void *data, const struct stream_module *module, struct err *err)
{
	struct watcher *self = data;
	struct known_module known = {module->base, module->start, module->end, ""};

	snprintf(known.path, sizeof(known.path), "%s", module->path);
	if (module->unloaded_ticks)
		return 0;
	return vec_push(&self->modules, known) ? 0 : err_set(err, ERR_MEMORY, "out of memory for modules");
}

/* What leads to each chunk, at the end of the program. */
static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes, u64 count,
		   struct err *err)
{
	struct watcher *self = data;

	map_clear(&self->classes);
	self->scanned = scan->state == SCAN_DONE;
	for (u64 i = 0; i < count; i++)
		if (!map_put(&self->classes, classes[i].chunk, classes[i].chunk_class))
			return err_set(err, ERR_MEMORY, "out of memory for classes");
	return 0;
}

static bool is_lost(const struct watcher *self, const struct area *area)
{
	const u64 *class = map_find(&self->classes, area->chunk);

	return class && (*class == CLASS_LOST || *class == CLASS_INDIRECT);
}

static void on_hit(void *data, const struct tap_hit *hit)
{
	struct watcher *self = data;
	struct unit *unit = areas_unit_at(&self->areas, hit->address);

	if (unit)
		policy_hit(&self->policy, unit, areas_ns(&self->areas, hit->ticks));
	areas_hit(&self->areas, hit);
}

static void on_done(void *data, const struct hw_command *command)
{
	struct watcher *self = data;

	requests_done(&self->requests, &self->areas, command);
}

/* ---- reports --------------------------------------------------------------------------------- */

static u32 age_bin(u64 age_ns)
{
	u32 bin = 0;

	for (u64 limit = SECOND; bin < WATCH_AGES - 1 && age_ns >= limit; limit *= 2)
		bin++;
	return bin;
}

static u32 size_bin(u64 size)
{
	u32 bin = size ? 63 - (u32)__builtin_clzll(size) : 0;

	return bin < WATCH_SIZES ? bin : WATCH_SIZES - 1;
}

static struct watch_point *point_of(struct watcher *self, u32 context)
{
	u64 *place = map_at(&self->points, context);

	if (!place)
		return NULL;
	if (!*place) {
		u32 point = context < self->frames.count ? self->frames.data[context].point : 0;

		if (!vec_push(&self->rows, (struct watch_point){.context = context, .number = point - !!point}))
			return NULL;
		*place = self->rows.count;
	}
	return &self->rows.data[*place - 1];
}

/* Untouched for so long, and, for half of that at least, it would have been noticed. */
static bool is_stale(const struct watcher *self, const struct area *area, u64 now)
{
	return area_is_stale(area, self->options.policy.leak_after_ns, now);
}

/* Keeps the areas that were not seen for longest, in that order. */
static void oldest_add(struct watch_report *report, const struct area *area, u64 age_ns)
{
	u32 at = report->oldest_count;

	if (at == WATCH_ROWS && report->oldest[at - 1].age_ns >= age_ns)
		return;
	if (at == WATCH_ROWS)
		at--;
	else
		report->oldest_count++;
	for (; at && report->oldest[at - 1].age_ns < age_ns; at--)
		report->oldest[at] = report->oldest[at - 1];
	report->oldest[at] = (struct watch_area){
		.address = area->address,
		.size = area->size,
		.age_ns = age_ns,
		.life_ns = report->now_ns - area->birth_ns,
		.hits = area->hits,
		.context = area->context,
		.hit_context = area->hit_context,
	};
}

static void count_area(struct watcher *self, struct watch_report *report, const struct area *area)
{
	u64 now = report->now_ns, age = area_age(area, now);
	struct watch_point *point = point_of(self, area->context);

	report->sizes[size_bin(area->size)]++;
	report->ages[age_bin(age)]++;
	report->age_bytes[age_bin(age)] += area->size;
	if (age < report->interval_ns)
		report->working_bytes += area->size;
	if (area->unit)
		oldest_add(report, area, age);
	if (!point)
		return;
	point->areas++;
	point->bytes += area->size;
	point->hits += area->hits;
	if (!is_stale(self, area, now))
		return;
	point->stale_areas++;
	point->stale_bytes += area->size;
	point->oldest_ns = age > point->oldest_ns ? age : point->oldest_ns;
	report->stale_areas++;
	report->stale_bytes += area->size;
	point->lost_areas += is_lost(self, area);
	report->lost_areas += is_lost(self, area);
	report->lost_bytes += is_lost(self, area) ? area->size : 0;
}

static int by_stale(const void *a, const void *b)
{
	const struct watch_point *x = a, *y = b;

	return x->stale_bytes > y->stale_bytes ? -1 : x->stale_bytes < y->stale_bytes;
}

static int by_growth(const void *a, const void *b)
{
	const struct watch_point *x = a, *y = b;

	return x->growth_bytes > y->growth_bytes ? -1 : x->growth_bytes < y->growth_bytes;
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

static void stack_fill(const struct watcher *self, u32 context, struct watch_stack *stack)
{
	while (context && context < self->frames.count && stack->frames < WATCH_FRAMES) {
		const struct frame *frame = &self->frames.data[context];

		if (frame->pc >= HW_GENERATION_LIMIT)
			frame_fill(self, frame->pc, &stack->frame[stack->frames++]);
		context = frame->parent;
	}
}

static void rows_take(struct watcher *self, struct watch_point *rows, u32 *count,
		      int (*order)(const void *, const void *), bool growth)
{
	qsort(self->rows.data, self->rows.count, sizeof(*self->rows.data), order);
	for (u64 i = 0; i < self->rows.count && *count < WATCH_ROWS; i++) {
		if (growth ? self->rows.data[i].growth_bytes <= 0 : !self->rows.data[i].stale_areas)
			break;
		rows[*count] = self->rows.data[i];
		stack_fill(self, rows[*count].context, &rows[*count].stack);
		(*count)++;
	}
}

static u64 pc_of(const struct watcher *self, u32 context)
{
	return context < self->frames.count ? self->frames.data[context].pc : 0;
}

/* Keeps the rows with most bytes, in that order. */
static u32 top_find(const struct watcher *self, const struct watch_point *top[WATCH_TOP])
{
	u32 count = 0;

	for (u64 i = 0; i < self->rows.count; i++) {
		const struct watch_point *row = &self->rows.data[i];
		u32 at = count;

		if (at == WATCH_TOP && top[at - 1]->bytes >= row->bytes)
			continue;
		if (at == WATCH_TOP)
			at--;
		else
			count++;
		for (; at && top[at - 1]->bytes < row->bytes; at--)
			top[at] = top[at - 1];
		top[at] = row;
	}
	return count;
}

static void top_take(const struct watcher *self, struct watch_report *report)
{
	const struct watch_point *top[WATCH_TOP];

	report->top_count = top_find(self, top);
	for (u32 i = 0; i < report->top_count; i++) {
		struct watch_point *row = &report->top[i];
		u64 pc = pc_of(self, top[i]->context);

		*row = *top[i];
		stack_fill(self, row->context, &row->stack);
		for (u64 k = 0; k < self->rows.count; k++)
			if (pc_of(self, self->rows.data[k].context) == pc)
				row->line_bytes += self->rows.data[k].bytes;
	}
}

static void count_points(struct watcher *self, struct watch_report *report)
{
	for (u64 i = 0; i < self->rows.count; i++) {
		struct watch_point *row = &self->rows.data[i];
		const u64 *before = map_find(&self->points_before, row->context);

		row->growth_bytes = (i64)row->bytes - (i64)(before ? *before : 0);
	}
	map_clear(&self->points_before);
	for (u64 i = 0; i < self->rows.count; i++)
		map_put(&self->points_before, self->rows.data[i].context, self->rows.data[i].bytes);
	report->points = self->rows.count;
	top_take(self, report);
	rows_take(self, report->suspects, &report->suspects_count, by_stale, false);
	rows_take(self, report->growth, &report->growth_count, by_growth, true);
}

static void count_cost(struct watcher *self, struct watch_report *report)
{
	report->units = self->areas.units.count;
	report->armed_units = self->areas.armed_units;
	report->armed_areas = self->areas.armed_areas;
	report->armed_bytes = self->areas.armed_bytes;
	report->hits = self->cost.hits;
	report->kernel_hits = self->kernel_hits;
	report->arms = self->cost.arms;
	report->refusals = self->requests.refusals + self->requests.full;
	report->cost_ns = self->cost.cost_ns;
	report->cpu_ns = self->cost.cpu_ns;
	report->interval_cost_ns = self->cost.cost_ns - self->cost_before.cost_ns;
	report->interval_cpu_ns = self->cost.cpu_ns - self->cost_before.cpu_ns;
	self->cost_before = self->cost;
}

static void report_make(struct watcher *self, u64 now, bool last)
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
		.live_areas = self->areas.list.count,
		.live_bytes = self->areas.live_bytes,
		.last = last,
		.scanned = self->scanned,
		.monitored = self->pages != NULL,
	};
	map_clear(&self->points);
	vec_clear(&self->rows);
	for (u64 i = 0; i < self->areas.list.count; i++)
		count_area(self, report, self->areas.list.data[i]);
	for (u64 i = 0; i < self->areas.units.count; i++)
		report->thresholds[self->areas.units.data[i]->state]++;
	for (u32 i = 0; i < report->oldest_count; i++)
		stack_fill(self, report->oldest[i].hit_context, &report->oldest[i].touched);
	count_points(self, report);
	count_cost(self, report);
	self->mallocs = self->frees = self->reallocs = 0;
	self->last_report_ns = now;
	pthread_mutex_lock(&self->lock);
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

/* ---- questions ------------------------------------------------------------------------------- */

enum { ASK_SECONDS = 2 };

struct question {
	const struct watch_settings *set; /* NULL = nothing is to change */
	struct watch_settings now;
	const struct stale_query *query;  /* NULL = none */
	struct watch_suspects *found;
	struct stale_rows *stale;
	bool answered, failed;
};

static void settings_change(struct watcher *self, const struct watch_settings *set)
{
	struct policy_options *policy = &self->options.policy;

	if (set->leak_after_ns)
		policy->leak_after_ns = set->leak_after_ns;
	if (set->overhead > 0)
		policy->overhead = set->overhead;
	self->policy.options.leak_after_ns = policy->leak_after_ns;
	self->policy.options.overhead = policy->overhead;
	if (!set->interval_ns)
		return;
	self->options.interval_ns = set->interval_ns;
	self->next_report_ns = self->last_report_ns + set->interval_ns;
}

/* The innermost frame that is not the recorder's. */
static void place_fill(const struct watcher *self, u32 context, struct watch_frame *place)
{
	struct watch_stack stack = {0};
	u32 at = 0;

	stack_fill(self, context, &stack);
	while (at + 1 < stack.frames && strstr(stack.frame[at].module, "/libheapwise"))
		at++;
	if (stack.frames)
		*place = stack.frame[at];
}

static bool suspect_add(const struct watcher *self, struct watch_suspects *found, const struct area *area, u64 now)
{
	u32 point = area->context < self->frames.count ? self->frames.data[area->context].point : 0;
	struct watch_suspect row = {
		.chunk = area->chunk,
		.size = area->size,
		.age_ns = now > area->birth_ns ? now - area->birth_ns : 0,
		.idle_ns = area_age(area, now),
		.hits = area->hits,
		.number = point - !!point,
		.known = map_find(&self->classes, area->chunk) != NULL,
		.lost = is_lost(self, area),
	};

	if (self->options.policy.kind == POLICY_LADDER && area->unit)
		row.threshold_ns = self->options.policy.states_ns[area->unit->state];
	place_fill(self, area->context, &row.place);
	return vec_push(&found->rows, row);
}

static void question_answer(struct watcher *self, struct question *question, u64 now)
{
	if (question->set)
		settings_change(self, question->set);
	question->now = (struct watch_settings){
		.leak_after_ns = self->options.policy.leak_after_ns,
		.overhead = self->options.policy.overhead,
		.interval_ns = self->options.interval_ns,
	};
	if (question->query) {
		struct stale_query query = *question->query;

		if (!query.after_ns)
			query.after_ns = self->options.policy.leak_after_ns;
		stale_find(&self->areas, &query, now, question->stale);
		question->found->count = question->stale->count;
		question->found->bytes = question->stale->bytes;
		question->found->scanned = self->scanned;
		for (u32 i = 0; i < question->stale->rows && !question->failed; i++)
			question->failed = !suspect_add(self, question->found, question->stale->row[i], now);
	}
	question->answered = true;
}

/* On the drain thread. */
static void question_serve(struct watcher *self, u64 now)
{
	pthread_mutex_lock(&self->lock);
	if (self->question) {
		question_answer(self, self->question, now);
		self->question = NULL;
		pthread_cond_broadcast(&self->answered);
	}
	pthread_mutex_unlock(&self->lock);
}

static bool ask(struct watcher *self, struct question *question)
{
	struct timespec until;
	bool in_time = true;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ASK_SECONDS;
	pthread_mutex_lock(&self->lock);
	while (self->question && in_time) /* somebody else's */
		in_time = pthread_cond_timedwait(&self->answered, &self->lock, &until) == 0;
	if (self->resting)
		question_answer(self, question, self->last_report_ns);
	else if (in_time)
		self->question = question;
	while (!question->answered && !self->resting && in_time)
		in_time = pthread_cond_timedwait(&self->answered, &self->lock, &until) == 0;
	if (self->question == question)
		self->question = NULL;
	pthread_cond_broadcast(&self->answered);
	pthread_mutex_unlock(&self->lock);
	return question->answered && !question->failed;
}

bool watcher_settings(struct watcher *self, struct watch_settings *settings)
{
	struct question question = {0};
	bool told = ask(self, &question);

	*settings = question.now;
	return told;
}

bool watcher_set(struct watcher *self, const struct watch_settings *settings)
{
	struct question question = {.set = settings};

	return ask(self, &question);
}

bool watcher_suspects(struct watcher *self, const struct stale_query *query, struct watch_suspects *found)
{
	struct question question = {.query = query, .found = found, .stale = calloc(1, sizeof(*question.stale))};
	bool told = question.stale && ask(self, &question);

	free(question.stale);
	return told;
}

void watcher_rest(struct watcher *self)
{
	pthread_mutex_lock(&self->lock);
	self->resting = true;
	pthread_cond_broadcast(&self->answered);
	pthread_mutex_unlock(&self->lock);
}

/* ---- the cycle ------------------------------------------------------------------------------- */

static void cost_update(struct watcher *self)
{
	const struct hw_pages *pages = self->pages;

	if (!pages)
		return;
	self->cost = (struct policy_cost){
		.cost_ns = pages_cost_ns(pages, self->areas.ns_per_tick),
		.cpu_ns = load_relaxed(&pages->cpu_ns),
		.hits = load_relaxed(&pages->hits) + load_relaxed(&pages->kernel_hits),
		.arms = load_relaxed(&pages->arms),
		.arm_ns = load_relaxed(&pages->arm_ns),
	};
	self->kernel_hits = load_relaxed(&pages->kernel_hits);
}

static void on_cycle(void *data, struct image *image, u64 now_ns)
{
	struct watcher *self = data;

	areas_set_clock(&self->areas, hw_ticks(), now_ns);
	self->pages = image_pages(image);
	cost_update(self);
	if (now_ns >= self->next_tick_ns) {
		policy_tick(&self->policy, &self->areas, &self->requests, &self->cost, now_ns);
		self->next_tick_ns = now_ns + policy_period_ns(&self->policy, self->areas.units.count);
	}
	if (now_ns >= self->next_report_ns) {
		report_make(self, now_ns, false);
		self->next_report_ns += self->options.interval_ns;
		if (self->next_report_ns <= now_ns)
			self->next_report_ns = now_ns + self->options.interval_ns;
	}
	question_serve(self, now_ns);
	requests_send(&self->requests, image);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct watcher *self = data;

	(void)err;
	cost_update(self);
	report_make(self, areas_ns(&self->areas, end->ticks), end->how != IMAGE_EXEC);
	self->pages = NULL;
	return 0;
}

struct watcher *watcher_new(const struct watcher_options *options)
{
	struct watcher *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->options = *options;
	pthread_mutex_init(&self->lock, NULL);
	pthread_cond_init(&self->answered, NULL);
	policy_init(&self->policy, &options->policy);
	self->tap = (struct tap){
		.self = self,
		.sink = {.self = self,
			 .image = on_image,
			 .module = on_module,
			 .contexts = on_contexts,
			 .events = on_events,
			 .scan = on_scan,
			 .image_end = on_image_end},
		.hit = on_hit,
		.done = on_done,
		.cycle = on_cycle,
	};
	return self;
}

void watcher_free(struct watcher *self)
{
	if (!self)
		return;
	areas_release(&self->areas);
	requests_release(&self->requests);
	policy_release(&self->policy);
	vec_release(&self->frames);
	vec_release(&self->modules);
	vec_release(&self->rows);
	map_release(&self->points);
	map_release(&self->points_before);
	map_release(&self->classes);
	pthread_cond_destroy(&self->answered);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

const struct tap *watcher_tap(const struct watcher *self) { return &self->tap; }
