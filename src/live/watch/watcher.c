/* SPDX-License-Identifier: MIT
 * From events and hits to reports; see watcher.h. All of it runs on the drain thread. */
#include "live/watch/watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "live/watch/watcher_state.h"

static const double SCAN_GUESS_NS = 10e6; /* and a ns for each byte, before there was one */

/* ---- events ---------------------------------------------------------------------------------- */

static int area_ends(struct watcher *self, const struct event *event, struct err *err)
{
	struct area *area = areas_find(&self->areas, event->address);
	bool ended;

	if (!area)
		return 0;
	map_remove(&self->types, area->chunk, NULL);
	if (event->kind == HW_REALLOC_FREE)
		areas_moved(&self->areas, area, event->ticks);
	areas_remove(&self->areas, area, &ended);
	if (ended && !requests_disarm_ended(&self->requests, event->address))
		return err_memory_for(err, "areas");
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
		self->seen++;
		self->calls[0]++;
		self->mallocs += event->kind != HW_REALLOC;
		self->reallocs += event->kind == HW_REALLOC;
		return areas_add(&self->areas, event) ? 0 : err_memory_for(err, "areas");
	}
	if (!hw_kind_frees(event->kind))
		return 0;
	self->frees += event->kind != HW_REALLOC_FREE;
	self->calls[1] += event->kind != HW_REALLOC_FREE;
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
	vec_clear(&self->threads);
	vec_clear(&self->requests.waiting);
	vec_clear(&self->classes.rows);
	map_clear(&self->types);
	map_clear(&self->point_types);
	self->pid = image->pid;
	self->scanned = self->main_returned = false;
	self->earlier_scans = self->pointer_scans;
	self->scan_due_ns = self->scan_ns = self->scan_at_ns = self->suspects_unknown = 0;
	self->pages = NULL;
	self->image = NULL;
	self->unread = (struct tap_unread){0};
	self->calls[0] = self->calls[1] = self->calls_ns = 0;
	self->flood_ticks = 0;
	self->cycle_ns = 0;
	self->armed_byte_s = self->live_byte_s = 0;
	self->cost = self->cost_before = (struct policy_cost){0};
	self->last_report_ns = image->start_ns;
	self->next_report_ns = image->start_ns + self->options.interval_ns;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct watcher *self = data;

	for (u64 i = 0; i < count; i++) {
		if (!vec_extend(&self->frames, (u64)contexts[i].id + 1))
			return err_memory_for(err, "contexts");
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
	return vec_push(&self->modules, known) ? 0 : err_memory_for(err, "modules");
}

static int on_thread(void *data, const struct stream_thread *thread, struct err *err)
{
	struct watcher *self = data;

	if (!vec_extend(&self->threads, (u64)thread->index + 1))
		return err_memory_for(err, "threads");
	self->threads.data[thread->index] = *thread;
	return 0;
}

/* What the monitor has seen in some objects. Names that the program has given are not told here. */
static int on_types(void *data, const struct stream_type *rows, u64 count, struct err *err)
{
	struct watcher *self = data;

	self->types_told |= count > 0;
	for (u64 i = 0; i < count; i++)
		if (rows[i].identity >= HW_NAMES &&
		    !map_put(&self->types, rows[i].chunk, rows[i].identity))
			return err_memory_for(err, "types");
	return 0;
}

static bool is_lost(const struct stream_class *row)
{
	return row->chunk_class == CLASS_LOST || row->chunk_class == CLASS_INDIRECT;
}

/* When main has returned, what only its variables held seems lost. What is lost then is therefore
 * what an earlier scan has found so; of what came later it is not known. */
static u64 without_main(const struct watcher *self, struct stream_class *rows, u64 count)
{
	const struct stream_class *before = self->classes.rows.data;
	u64 kept = 0;

	for (u64 i = 0, at = 0; i < count; i++) {
		while (at < self->classes.rows.count && before[at].chunk < rows[i].chunk)
			at++;
		if (!is_lost(&rows[i]))
			rows[kept++] = rows[i];
		else if (at < self->classes.rows.count && before[at].chunk == rows[i].chunk)
			rows[kept++] = before[at];
	}
	return kept;
}

/* What leads to each chunk, at the end of the program or before. */
static int on_scan(void *data, const struct stream_scan *scan, const struct stream_class *classes,
		   u64 count, struct err *err)
{
	struct watcher *self = data;
	struct watcher_classes found = {0};

	if (scan->state != SCAN_DONE)
		/* what is known stays, and the next one waits as if this one had taken its time */
		return 0;
	if (!vec_extend(&found.rows, count))
		return err_memory_for(err, "classes");
	if (count)
		memcpy(found.rows.data, classes, count * sizeof(*classes));
	self->main_returned = self->image && image_main_returned(self->image);
	if (self->main_returned)
		found.rows.count = without_main(self, found.rows.data, count);
	else
		self->scan_at_ns = areas_ns(&self->areas, scan->ticks);
	vec_release(&self->classes.rows);
	self->classes = found;
	self->scanned = true;
	self->scan_ns = scan->scan_ns;
	self->scan_due_ns =
		self->cycle_ns + (u64)((double)scan->scan_ns / self->options.policy.overhead);
	self->scans++;
	return 0;
}

/* What is lost is told of stale areas only. Where there are none, that is known without a scan. */
static bool wants_last_scan(void *data, u64 now_ns)
{
	struct watcher *self = data;

	for (u64 i = 0; i < self->areas.list.count; i++)
		if (area_idle(self->areas.list.data[i], now_ns) >=
		    self->options.policy.leak_after_ns)
			return true;
	self->scanned = true;
	return false;
}

static int on_graph(void *data, const struct stream_graph *graph, struct err *err)
{
	struct watcher *self = data;

	(void)graph, (void)err;
	self->pointer_scans++;
	return 0;
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

/* ---- the cycle ------------------------------------------------------------------------------- */

/* The recorder times some calls; all of them take as long in the mean. */
static u64 calls_cost_ns(const struct watcher *self, const struct hw_pages *pages)
{
	double ns = 0;

	for (u32 i = 0; i < 2; i++) {
		u64 timed = load_relaxed(&pages->timed[i]);

		if (timed)
			ns += (double)self->calls[i] *
			      (double)load_relaxed(&pages->timed_ticks[i]) / (double)timed;
	}
	return (u64)(ns * self->areas.ns_per_tick);
}

/* cpu_now_ns: 0 if only the program's own last word is known. */
static void cost_update(struct watcher *self, u64 cpu_now_ns)
{
	const struct hw_pages *pages = self->pages;
	u64 cpu, spent, arm, open;

	if (!pages)
		return;
	/* Before the sum that has them in it: they grow meanwhile. */
	arm = load_acquire(&pages->arm_ns);
	open = load_acquire(&pages->open_ns);
	/* The rate of ticks is measured anew each time: what was spent once stays. */
	spent = pages_cost_ns(pages, self->areas.ns_per_tick);
	cpu = load_relaxed(&pages->cpu_ns);
	cpu = cpu_now_ns > cpu ? cpu_now_ns : cpu;
	self->cost = (struct policy_cost){
		.cost_ns = spent > self->cost.cost_ns ? spent : self->cost.cost_ns,
		.cpu_ns = cpu > self->cost.cpu_ns ? cpu : self->cost.cpu_ns,
		.hits = load_relaxed(&pages->hits) + load_relaxed(&pages->kernel_hits) +
			load_relaxed(&pages->opened),
		.arms = load_relaxed(&pages->arms),
		.arm_ns = arm,
		.open_ns = open,
		.open_units = load_relaxed(&pages->open_units),
		.armed = load_relaxed(&pages->armed),
	};
	self->calls_ns = calls_cost_ns(self, pages);
	self->hits = load_relaxed(&pages->hits);
	self->kernel_hits = load_relaxed(&pages->kernel_hits);
	self->floods = load_relaxed(&pages->floods);
	self->around = load_relaxed(&pages->around);
}

/* What has ended before its birth was read. */
static void unread_follow(struct watcher *self, const struct image *image)
{
	struct tap_unread now = image_unread(image), before = self->unread;
	u64 both = now.mallocs + now.reallocs - before.mallocs - before.reallocs;
	u64 freed = both - (now.moved - before.moved);

	self->unread = now;
	self->calls[0] += both;
	self->calls[1] += freed;
	self->mallocs += now.mallocs - before.mallocs;
	self->reallocs += now.reallocs - before.reallocs;
	self->frees += freed;
	self->seen += both;
}

/* The program has opened everything. */
static void flood_follow(struct watcher *self)
{
	u64 ticks = self->pages ? load_acquire(&self->pages->flood_ticks) : 0;

	if (ticks == self->flood_ticks)
		return;
	self->flood_ticks = ticks;
	areas_flooded(&self->areas, areas_ns(&self->areas, ticks));
}

/* Which suspects are lost and which can still be reached tells a scan, for which the program stands
 * still. It may do that for the stated share of the time: the next scan comes when the last one is
 * paid for, the first when its guess is. */
static void scan_follow(struct watcher *self, struct image *image, u64 now)
{
	double still = self->scan_ns ? (double)self->scan_ns
				     : SCAN_GUESS_NS + (double)self->areas.live_bytes;

	if (!self->scan_due_ns)
		self->scan_due_ns =
			self->areas.start_ns + (u64)(still / self->options.policy.overhead);
	if (!self->suspects_unknown || now < self->scan_due_ns)
		return;
	self->suspects_unknown = 0;
	/* until it is known */
	self->scan_due_ns = now + (u64)(2 * still / self->options.policy.overhead);
	image_want_scan(image);
}

/* Before what was just asked for is done, and paid for. */
static void allow(struct watcher *self, struct image *image)
{
	double ns_per_tick = self->areas.ns_per_tick;
	struct policy_limits limits;

	if (!self->pages || ns_per_tick <= 0)
		return;
	self->cost.asked = self->requests.waiting.count + image_commands_waiting(image);
	limits = policy_limits(&self->policy, &self->cost);
	image_allow(image, (u64)((double)limits.hits_ns / ns_per_tick),
		    (u64)((double)load_relaxed(&self->pages->fault_ns) / ns_per_tick),
		    limits.arming_ns);
}

static void on_cycle(void *data, struct image *image, u64 now_ns)
{
	struct watcher *self = data;

	double passed_s = self->cycle_ns ? (double)(now_ns - self->cycle_ns) / 1e9 : 0;

	areas_set_clock(&self->areas, hw_ticks(), now_ns);
	self->cycle_ns = now_ns;
	self->armed_byte_s += passed_s * (double)self->areas.armed_bytes;
	self->live_byte_s += passed_s * (double)self->areas.live_bytes;
	self->image = image;
	self->pages = image_pages(image);
	unread_follow(self, image);
	cost_update(self, image_cpu_ns(image));
	flood_follow(self);
	image_allow_around(image, policy_around_most(&self->policy));
	if (now_ns >= self->next_tick_ns) {
		policy_tick(&self->policy, &self->areas, &self->requests, &self->cost, now_ns);
		self->next_tick_ns =
			now_ns + policy_period_ns(&self->policy, self->areas.units.count);
	}
	if (now_ns >= self->next_report_ns) {
		watcher_report(self, now_ns, false);
		self->next_report_ns += self->options.interval_ns;
		if (self->next_report_ns <= now_ns)
			self->next_report_ns = now_ns + self->options.interval_ns;
	}
	watcher_answer(self, now_ns);
	scan_follow(self, image, now_ns);
	requests_send(&self->requests, requests_give, image);
	allow(self, image);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct watcher *self = data;

	(void)err;
	if (self->image)
		unread_follow(self, self->image);
	cost_update(self, 0);
	self->image = NULL;
	watcher_report(self, areas_ns(&self->areas, end->ticks), end->how != IMAGE_EXEC);
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
			 .thread = on_thread,
			 .contexts = on_contexts,
			 .events = on_events,
			 .types = on_types,
			 .scan = on_scan,
			 .graph = on_graph,
			 .image_end = on_image_end},
		.hit = on_hit,
		.done = on_done,
		.cycle = on_cycle,
		.wants_last_scan = wants_last_scan,
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
	vec_release(&self->threads);
	vec_release(&self->rows);
	vec_release(&self->classes.rows);
	pthread_cond_destroy(&self->answered);
	map_release(&self->types);
	map_release(&self->point_types);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

const struct tap *watcher_tap(const struct watcher *self) { return &self->tap; }
