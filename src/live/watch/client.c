/* SPDX-License-Identifier: MIT
 * The monitor toolkit; see include/heapwise/client.h. Callbacks run on the drain thread. Never
 * prints. */
#define _GNU_SOURCE
#include "heapwise/client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/parts.h"
#include "format/atomics.h"
#include "format/ticks.h"
#include "live/drain/image_tap.h"
#include "live/drain/join.h"
#include "live/launch/run.h"
#include "live/watch/requests.h"

#define PUBLIC __attribute__((visibility("default")))
enum { TICK_MS_MIN = 10, RETRY_NS = 100000000 };

struct frame { /* by number of the context */
	u64 pc;
	u32 parent;
};

/* A realloc in progress: what the thread's next HW_REALLOC takes over. */
struct carried {
	u64 address, size;
	void *data;
};

struct heapwise_client {
	void (*on_event)(void *self, const struct heapwise_event *event);
	void *event_self;
	void (*on_tick)(void *self, uint64_t now_ns);
	void *tick_self;
	u64 tick_ns, next_tick_ns, next_retry_ns;
	bool access_stacks, own_pages;
	char recorder[PARTS_PATH];
	struct tap tap;
	struct areas areas;
	struct requests requests;
	VEC(struct frame) frames;
	VEC(struct carried) carried; /* by thread */
	const struct hw_pages *pages;
	struct join_listener listener; /* if the program was joined */
	bool leave;
	u64 cost_ns, cpu_ns; /* when the image has ended */
	struct err error;
};

static struct area *inside(const struct heapwise_area *area)
{
	return (struct area *)(uintptr_t)area;
}
static struct heapwise_area *outside(struct area *area) { return (struct heapwise_area *)area; }

/* ---- events ---------------------------------------------------------------------------------- */

static void tell(struct heapwise_client *self, const struct heapwise_event *event)
{
	if (self->on_event)
		self->on_event(self->event_self, event);
}

/* A unit is armed as long as one of its areas is wanted. */
static bool unit_is_wanted(const struct unit *unit)
{
	for (const struct area *area = unit->first; area; area = area->next)
		if (area->wanted)
			return true;
	return false;
}

static bool unit_want(struct heapwise_client *self, struct unit *unit)
{
	if (unit->armed || unit->asked)
		return true;
	return requests_arm(&self->requests, unit);
}

static struct carried *carried_of(struct heapwise_client *self, u32 thread)
{
	return vec_extend(&self->carried, (u64)thread + 1) ? &self->carried.data[thread] : NULL;
}

static int area_begins(struct heapwise_client *self, const struct event *event, struct err *err)
{
	struct carried *carried =
		event->kind == HW_REALLOC ? carried_of(self, event->thread) : NULL;
	struct area *area = areas_add(&self->areas, event);
	struct heapwise_event told = {.kind = HEAPWISE_MALLOC,
				      .time_ns = areas_ns(&self->areas, event->ticks),
				      .context = event->context};

	if (!area)
		return err_memory_for(err, "areas");
	if (carried && carried->address) {
		told.kind = HEAPWISE_REALLOC;
		told.old_address = carried->address;
		told.old_size = carried->size;
		area->data = carried->data;
		carried->address = 0;
	}
	told.area = outside(area);
	tell(self, &told);
	return 0;
}

static int area_ends(struct heapwise_client *self, const struct event *event, struct err *err)
{
	struct area *area = areas_find(&self->areas, event->address);
	bool moves = event->kind == HW_REALLOC_FREE && event->aux, ended;
	struct carried *carried = moves ? carried_of(self, event->thread) : NULL;
	struct heapwise_event told = {.kind = HEAPWISE_FREE,
				      .time_ns = areas_ns(&self->areas, event->ticks),
				      .area = outside(area),
				      .context = event->context};

	if (!area)
		return 0;
	if (carried)
		*carried = (struct carried){area->address, area->size, area->data};
	else
		tell(self, &told);
	if (event->kind == HW_REALLOC_FREE)
		areas_moved(&self->areas, area, event->ticks);
	areas_remove(&self->areas, area, &ended);
	if (ended && !requests_disarm_ended(&self->requests, event->address))
		return err_memory_for(err, "areas");
	return 0;
}

static int on_events(void *data, const struct event *events, u64 count, struct err *err)
{
	struct heapwise_client *self = data;
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i++) {
		if (hw_kind_is_pool(events[i].kind))
			continue;
		if (hw_kind_allocates(events[i].kind))
			status = area_begins(self, &events[i], err);
		else if (hw_kind_frees(events[i].kind))
			status = area_ends(self, &events[i], err);
	}
	return status;
}

static int on_image(void *data, const struct stream_image *image, struct err *err)
{
	struct heapwise_client *self = data;

	(void)err;
	areas_reset(&self->areas, image->start_ticks, image->start_ns);
	vec_clear(&self->frames);
	vec_clear(&self->carried);
	vec_clear(&self->requests.waiting);
	self->pages = NULL;
	return 0;
}

static int on_contexts(void *data, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	struct heapwise_client *self = data;

	for (u64 i = 0; i < count; i++) {
		if (!vec_extend(&self->frames, (u64)contexts[i].id + 1))
			return err_memory_for(err, "contexts");
		self->frames.data[contexts[i].id] =
			(struct frame){contexts[i].pc, contexts[i].parent};
	}
	return 0;
}

static void on_hit(void *data, const struct tap_hit *hit)
{
	struct heapwise_client *self = data;
	struct unit *unit = areas_unit_at(&self->areas, hit->address);
	struct area *area = areas_hit(&self->areas, hit);
	struct heapwise_event told = {
		.kind = HEAPWISE_ACCESS,
		.time_ns = areas_ns(&self->areas, hit->ticks),
		.area = outside(area),
		.address = hit->address,
		.is_write = hit->flags & HW_HIT_KERNEL  ? -1
			    : hit->flags & HW_HIT_WRITE ? 1
							: 0,
		.context = hit->context,
	};

	if (area && area->wanted) {
		area->wanted = false;
		tell(self, &told);
	}
	if (unit && unit_is_wanted(unit))
		unit_want(self, unit);
}

static void on_done(void *data, const struct hw_command *command)
{
	struct heapwise_client *self = data;

	requests_done(&self->requests, &self->areas, command);
}

/* What was refused, opened for a new neighbour, or hit before it was known to be armed. */
static void retry(struct heapwise_client *self)
{
	for (u64 i = 0; i < self->areas.units.count; i++) {
		struct unit *unit = self->areas.units.data[i];

		if (!unit->armed && !unit->asked && unit_is_wanted(unit))
			unit_want(self, unit);
	}
}

static void cost_update(struct heapwise_client *self, u64 cpu_now_ns)
{
	u64 cpu;

	if (!self->pages)
		return;
	self->cost_ns = pages_cost_ns(self->pages, self->areas.ns_per_tick);
	cpu = load_relaxed(&self->pages->cpu_ns);
	self->cpu_ns = cpu > cpu_now_ns ? cpu : cpu_now_ns;
}

static bool join_give(void *to, u32 verb, u64 address, u64 birth)
{
	return join_command(to, verb, address, birth);
}

static void commands_send(struct heapwise_client *self, struct image *image)
{
	if (image)
		requests_send(&self->requests, requests_give, image);
	else
		requests_send(&self->requests, join_give, &self->listener);
}

/* image: NULL if the program was joined. */
static void on_cycle(void *data, struct image *image, u64 now_ns)
{
	struct heapwise_client *self = data;
	const struct join_cycle *joined = &self->listener.cycle;

	areas_set_clock(&self->areas, image ? hw_ticks() : joined->ticks, now_ns);
	self->pages = image ? image_pages(image) : joined->monitored ? &joined->pages : NULL;
	cost_update(self, image ? image_cpu_ns(image) : joined->cpu_ns);
	if (self->on_tick && now_ns >= self->next_tick_ns) {
		self->next_tick_ns = now_ns + self->tick_ns;
		self->on_tick(self->tick_self, now_ns);
	}
	if (now_ns >= self->next_retry_ns) {
		self->next_retry_ns = now_ns + RETRY_NS;
		retry(self);
	}
	commands_send(self, image);
}

static int on_image_end(void *data, const struct stream_image_end *end, struct err *err)
{
	struct heapwise_client *self = data;

	(void)err;
	if (self->on_tick && end->how != IMAGE_EXEC)
		self->on_tick(self->tick_self, areas_ns(&self->areas, end->ticks));
	self->pages = NULL;
	return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

PUBLIC struct heapwise_client *heapwise_client_new(void)
{
	struct heapwise_client *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->tap = (struct tap){
		.self = self,
		.sink = {.self = self,
			 .image = on_image,
			 .contexts = on_contexts,
			 .events = on_events,
			 .image_end = on_image_end},
		.hit = on_hit,
		.done = on_done,
		.cycle = on_cycle,
	};
	return self;
}

PUBLIC void heapwise_client_free(struct heapwise_client *self)
{
	if (!self)
		return;
	areas_release(&self->areas);
	requests_release(&self->requests);
	vec_release(&self->frames);
	vec_release(&self->carried);
	free(self);
}

PUBLIC void heapwise_on_event(struct heapwise_client *self,
			      void (*callback)(void *, const struct heapwise_event *), void *data)
{
	self->on_event = callback;
	self->event_self = data;
}

PUBLIC void heapwise_on_tick(struct heapwise_client *self, unsigned every_ms,
			     void (*callback)(void *, uint64_t), void *data)
{
	self->on_tick = callback;
	self->tick_self = data;
	self->tick_ns = (u64)(every_ms < TICK_MS_MIN ? TICK_MS_MIN : every_ms) * 1000000;
}

PUBLIC void heapwise_want_access_stacks(struct heapwise_client *self)
{
	self->access_stacks = true;
}

PUBLIC void heapwise_want_own_pages(struct heapwise_client *self) { self->own_pages = true; }

PUBLIC void heapwise_set_recorder(struct heapwise_client *self, const char *path)
{
	snprintf(self->recorder, sizeof(self->recorder), "%s", path);
}

PUBLIC const char *heapwise_error(const struct heapwise_client *self) { return self->error.text; }

/* Beside the library, or the tool, that this is part of. */
static void recorder_find(struct heapwise_client *self)
{
	char folder[PARTS_PATH];
	Dl_info info;
	char *slash;

	if (self->recorder[0] || !dladdr((const void *)(uintptr_t)heapwise_client_new, &info) ||
	    !info.dli_fname)
		return;
	snprintf(folder, sizeof(folder), "%s", info.dli_fname);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	else
		/* a tool that was found in PATH, with the archive in it */
		parts_own_folder(folder);
	parts_find(folder, "libheapwise-watch.so", self->recorder);
}

PUBLIC int heapwise_launch(struct heapwise_client *self, char *const argv[], int *status)
{
	const struct run_owner owner = {.tap = &self->tap};
	struct run_options options = {
		.argv = argv,
		.record.flags = HW_RUN_ALLOC_STACKS | HW_RUN_PAGES |
				(self->access_stacks ? HW_RUN_HIT_STACKS : 0) |
				(self->own_pages ? HW_RUN_OWN_PAGES : 0),
		.output.none = true,
		.start.embedded = true,
		.owner = &owner,
	};
	struct run_result result;

	if (!argv[0]) {
		err_set(&self->error, ERR_USAGE, "no program to start");
		return -1;
	}
	recorder_find(self);
	options.start.recorder = self->recorder[0] ? self->recorder : NULL;
	if (monitor_run(&options, &result, &self->error) < 0)
		return -1;
	if (status)
		*status = result.wait_status;
	run_result_release(&result);
	return 0;
}

/* What lives when a tool joins. Nobody knows since when. */
static int on_blocks(void *data, const struct join_block *blocks, u64 count, struct err *err)
{
	struct heapwise_client *self = data;
	u64 ticks = hw_ticks();

	areas_set_clock(&self->areas, ticks, now_ns());
	for (u64 i = 0; i < count; i++) {
		struct event event = {.ticks = ticks,
				      .address = blocks[i].address,
				      .size = blocks[i].size,
				      .chunk = blocks[i].chunk,
				      .context = blocks[i].context,
				      .kind = HW_MALLOC};
		struct area *area = areas_add(&self->areas, &event);
		struct heapwise_event told = {.kind = HEAPWISE_MALLOC, .context = event.context};

		if (!area)
			return err_memory_for(err, "areas");
		area->birth_ticks = blocks[i].birth;
		told.area = outside(area);
		told.time_ns = area->birth_ns;
		tell(self, &told);
	}
	return 0;
}

PUBLIC int heapwise_join(struct heapwise_client *self, int pid)
{
	struct join_handlers handlers = {.tap = self->tap, .blocks = on_blocks};
	int status = join_open(&self->listener, (u32)pid, &self->error);

	if (status < 0)
		return -1;
	self->leave = false;
	status = join_listen(&self->listener, &handlers, &self->leave, &self->error);
	join_close(&self->listener);
	return status < 0 ? -1 : 0;
}

PUBLIC void heapwise_leave(struct heapwise_client *self) { self->leave = true; }

/* ---- areas ----------------------------------------------------------------------------------- */

PUBLIC uint64_t heapwise_area_address(const struct heapwise_area *area)
{
	return inside(area)->address;
}
PUBLIC uint64_t heapwise_area_size(const struct heapwise_area *area) { return inside(area)->size; }
PUBLIC uint64_t heapwise_area_birth_ns(const struct heapwise_area *area)
{
	return inside(area)->birth_ns;
}
PUBLIC uint64_t heapwise_area_seen_ns(const struct heapwise_area *area)
{
	return inside(area)->seen_ns;
}
PUBLIC int heapwise_is_known(const struct heapwise_area *area)
{
	u64 now = now_ns();

	return area_idle(inside(area), now) >= area_age(inside(area), now) / 2;
}
PUBLIC uint32_t heapwise_area_context(const struct heapwise_area *area)
{
	return inside(area)->context;
}
PUBLIC void *heapwise_area_data(const struct heapwise_area *area) { return inside(area)->data; }
PUBLIC void heapwise_area_set_data(struct heapwise_area *area, void *data)
{
	inside(area)->data = data;
}
PUBLIC int heapwise_is_monitored(const struct heapwise_area *area) { return inside(area)->wanted; }

PUBLIC struct heapwise_area *heapwise_next(const struct heapwise_client *self,
					   const struct heapwise_area *area)
{
	u64 index = area ? (u64)inside(area)->index + 1 : 0;

	return index < self->areas.list.count ? outside(self->areas.list.data[index]) : NULL;
}

PUBLIC struct heapwise_area *heapwise_find(const struct heapwise_client *self, uint64_t address)
{
	return outside(areas_find(&self->areas, address));
}

PUBLIC size_t heapwise_count(const struct heapwise_client *self) { return self->areas.list.count; }
PUBLIC uint64_t heapwise_bytes(const struct heapwise_client *self)
{
	return self->areas.live_bytes;
}

PUBLIC int heapwise_monitor(struct heapwise_client *self, struct heapwise_area *area)
{
	struct area *one = inside(area);

	if (!one->unit)
		return -1;
	one->wanted = true;
	return unit_want(self, one->unit) ? 0 : -1;
}

PUBLIC void heapwise_unmonitor(struct heapwise_client *self, struct heapwise_area *area)
{
	struct area *one = inside(area);

	if (!one->wanted)
		return;
	one->wanted = false;
	if (!unit_is_wanted(one->unit))
		requests_disarm(&self->requests, one->unit);
}

PUBLIC size_t heapwise_stack(const struct heapwise_client *self, uint32_t context, uint64_t *pcs,
			     size_t room)
{
	size_t count = 0;

	while (context && context < self->frames.count && count < 65536) {
		const struct frame *frame = &self->frames.data[context];

		if (frame->pc >= HW_GENERATION_LIMIT || frame->parent) {
			if (count < room)
				pcs[count] = frame->pc;
			count++;
		}
		context = frame->parent;
	}
	return count;
}

PUBLIC void heapwise_cost(const struct heapwise_client *self, uint64_t *monitoring_ns,
			  uint64_t *program_ns)
{
	*monitoring_ns = self->cost_ns;
	*program_ns = self->cpu_ns;
}
