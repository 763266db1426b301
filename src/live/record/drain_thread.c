/* SPDX-License-Identifier: MIT
 * The loop of the drain thread; see drain.h. Never touches disk or terminal, and never waits but
 * for the bell (and for the trace writer's queue, when the disk is slower than the program). */
#define _GNU_SOURCE
#include "live/record/drain_thread.h"

#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "host/base/clock.h"
#include "live/drain/futex.h"

static const u64 SLEEP_NS_MIN = 100000, SLEEP_NS = 10000000, SLEEP_NS_MAX = 50000000;
static const u64 SLEEP_NS_SAMPLED = 200000000;
static const u64 TICK_NS = 1000000000; /* clock pairs and flushes */
static const u64 SIZE_CHECK_NS = 50000000;

static void drain_fail(struct drain *self, const struct err *err)
{
	if (!self->error.code)
		self->error = *err;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static struct process *process_of(struct drain *self, u32 pid)
{
	for (u64 i = 0; i < self->active.count; i++) {
		if (self->active.data[i]->pid == pid)
			return self->active.data[i];
	}
	return NULL;
}

static struct process *process_append(struct drain *self, const struct berth *berth)
{
	struct process *process = process_new(berth->pid, berth->parent_pid);

	if (!process)
		return NULL;
	if (!vec_push(&self->active, process)) {
		process_free(process, self->berths);
		return NULL;
	}
	/* Pairs with the waiting thread's acquire while it walks the list. */
	store_release(&self->newest->next, process);
	self->newest = process;
	waiting_thread_wake(); /* it opens the trace */
	return process;
}

static void berth_assign(struct drain *self, struct berth *berth)
{
	struct process *process = process_of(self, berth->pid);
	struct err err = {0};

	if (!process && self->berths->options.children)
		process = process_append(self, berth);
	if (!process || process_add_berth(process, berth, &err) < 0)
		berths_give_back(self->berths, berth);
	if (err.code)
		drain_fail(self, &err);
}

static void claims_take(struct drain *self)
{
	struct berth berth = {0};
	struct err err = {0};
	bool any = false;
	int status;

	while ((status = berths_take_claimed(self->berths, &berth, &err)) != 0) {
		any = true;
		if (status > 0)
			berth_assign(self, &berth);
		else if (self->unmapped++ == 0)
			self->unmapped_error = err;
	}
	berths_close_mapped(self->berths);
	/* Without any left somebody may wait for one. */
	if ((any || !self->berths->spare_count) && berths_replenish(self->berths, &err) < 0)
		drain_fail(self, &err);
}

/* ---- one cycle ------------------------------------------------------------------------------- */

static u64 traces_bytes(const struct drain *self)
{
	u64 bytes = self->ended_bytes;

	for (u64 i = 0; i < self->active.count; i++)
		bytes += process_trace_bytes(self->active.data[i]);
	return bytes;
}

/* The traces have become too large, or the disk too full: from now on totals only. */
static void sizes_check(struct drain *self, u64 now)
{
	if (now - self->size_ns < SIZE_CHECK_NS || self->aggregating)
		return;
	self->size_ns = now;
	if (!load_relaxed(&self->aggregate) &&
	    (!self->max_size || traces_bytes(self) < self->max_size))
		return;
	store_relaxed(&self->aggregating, 1);
	for (u64 i = 0; i < self->active.count; i++) {
		if (self->active.data[i]->image)
			image_aggregate(self->active.data[i]->image);
	}
}

static u64 process_serve(struct drain *self, struct process *process, u64 elapsed_ns)
{
	u32 recordings = process->recordings;
	u64 count = process_cycle(process, self->berths, &self->fallback, elapsed_ns,
				  process->gone_seen);

	if (self->aggregating && process->recordings != recordings && process->image)
		image_aggregate(process->image);
	return count;
}

/* The process at `index` has nothing left to tell. */
static void process_retire(struct drain *self, u64 index)
{
	struct process *process = self->active.data[index];

	self->ended_bytes += process_trace_bytes(process);
	self->ended_events += process_events(process);
	self->active.data[index] = self->active.data[--self->active.count];
	store_release(&process->finished, 1);
	waiting_thread_wake();
}

/* Pause or resume for all processes, those to come included. */
static void pause_obey(struct drain *self)
{
	u32 command = load_acquire(&self->pause_command);

	if (command == self->pause_obeyed)
		return;
	self->pause_obeyed = command;
	berths_set_paused(self->berths, command & 1);
	for (u64 i = 0; i < self->active.count; i++)
		process_set_paused(self->active.data[i], command & 1);
}

/* Returns the number of records. */
static u64 drain_cycle(struct drain *self, u64 now)
{
	u64 count = 0, events = 0, live = 0;

	self->elapsed_ns = now - self->cycle_ns;
	self->cycle_ns = now;
	/* Looked at before the claims: a process that was gone by then claims nothing more. */
	for (u64 i = 0; i < self->active.count; i++)
		self->active.data[i]->gone_seen = load_acquire(&self->active.data[i]->gone);
	claims_take(self);
	pause_obey(self);
	for (u64 i = self->active.count; i-- > 0;) {
		struct process *process = self->active.data[i];

		count += process_serve(self, process, self->elapsed_ns);
		live += process_live_bytes(process);
		if (process_is_done(process))
			process_retire(self, i);
		else
			events += process_events(process);
	}
	store_relaxed(&self->events, self->ended_events + events);
	store_relaxed(&self->live_bytes, live);
	return count;
}

static void drain_tick(struct drain *self, u64 now)
{
	if (now - self->tick_ns < TICK_NS)
		return;
	self->tick_ns = now;
	for (u64 i = 0; i < self->active.count; i++)
		process_tick(self->active.data[i]);
}

static bool any_pressed(const struct drain *self)
{
	for (u64 i = 0; i < self->active.count; i++) {
		const struct process *process = self->active.data[i];

		if (process->image && (image_pressed(process->image) || process_pressed(process)))
			return true;
		if (load_relaxed(&process->gone) && load_relaxed(&process->writer_state) &&
		    !process->scan)
			return true;
	}
	return false;
}

/* How long to sleep after a cycle that found `count` records: until a third of a ring is full
 * again, if the program goes on like this. The program rings the bell at one half, but that costs
 * it a system call, which on a virtual machine also has to start another processor. Samples come
 * slowly, and to look for them a hundred times a second was most of what a sampled run cost beside
 * the program. Where accesses are recorded the program's clock counts on our beat. */
static u64 sleep_ns(const struct drain *self, u64 count)
{
	const struct berths_options *options = &self->berths->options;
	bool rare = options->sample_bytes &&
		    !(options->flags & (HW_RUN_ACCESS_EXACT | HW_RUN_ACCESS_ADAPTIVE));
	u64 longest = rare                              ? SLEEP_NS_SAMPLED
		      : count && !options->sample_bytes ? SLEEP_NS
							: SLEEP_NS_MAX;
	u64 ns;

	if (count && options->flags & HW_RUN_LASTING)
		return SLEEP_NS; /* records wait to be taken back */
	if (!count)
		return self->timeout_ns < longest ? self->timeout_ns + SLEEP_NS : longest;
	ns = self->elapsed_ns * (self->berths->layout.ring_records / 3) / count;
	if (ns > longest)
		return longest;
	return ns < SLEEP_NS_MIN ? SLEEP_NS_MIN : ns;
}

/* The fence orders monitor_sleeps before the last look at the rings; the recorder moves its head
 * before it looks at monitor_sleeps, so that one of the two sees the other. */
static void drain_sleep(struct drain *self, u64 count)
{
	struct hw_lobby *lobby = self->berths->lobby;
	u32 bell = load_acquire(&lobby->bell);

	self->timeout_ns = sleep_ns(self, count);
	store_relaxed(&lobby->monitor_sleeps, 1);
	fence_seq_cst();
	if (!any_pressed(self))
		futex_wait(&lobby->bell, bell, self->timeout_ns);
	store_relaxed(&lobby->monitor_sleeps, 0);
	store_relaxed(&lobby->beat, lobby->beat + 1);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void started_set(struct drain *self, u32 value)
{
	store_release(&self->started, value);
	futex_wake(&self->started, INT32_MAX);
}

static void *drain_main(void *argument)
{
	struct drain *self = argument;

	if (berths_hold_lock(self->berths, &self->error) < 0) {
		started_set(self, 2);
		return NULL;
	}
	self->cycle_ns = self->tick_ns = now_ns();
	started_set(self, 1);
	while (self->active.count || load_relaxed(&self->hold)) {
		u64 now = now_ns();
		u64 count = drain_cycle(self, now);

		drain_tick(self, now);
		sizes_check(self, now);
		if (self->active.count || load_relaxed(&self->hold))
			drain_sleep(self, count);
	}
	store_release(&self->done, 1);
	waiting_thread_wake();
	/* The lock is not given back: its owner's end is what recorders that still run must see. */
	return NULL;
}

int drain_start(struct drain *self, struct err *err)
{
	int status;

	self->newest = self->processes;
	self->berths->scans = &self->scans;
	if (!vec_push(&self->active, self->processes))
		return err_memory(err);
	status = pthread_create(&self->thread, NULL, drain_main, self);
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(status));
	while (!load_acquire(&self->started))
		futex_wait(&self->started, 0, SLEEP_NS_MAX);
	if (load_acquire(&self->started) == 1)
		return 0;
	*err = self->error;
	pthread_join(self->thread, NULL);
	return err->code;
}

void drain_set_paused(struct drain *self, bool paused)
{
	u32 before = load_relaxed(&self->pause_command), command;

	do
		command = (before | 1) + 1 + paused;
	while (!cas_acq_rel(&self->pause_command, &before, command));
	drain_wake(self);
}

void drain_wake(struct drain *self)
{
	add_acq_rel(&self->berths->lobby->bell, 1);
	futex_wake(&self->berths->lobby->bell, INT32_MAX);
}

void drain_join(struct drain *self)
{
	pthread_join(self->thread, NULL);
	vec_release(&self->active);
}
