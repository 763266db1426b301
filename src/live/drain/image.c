/* SPDX-License-Identifier: MIT
 * An image's beginning, its threads and contexts, and its end; see image.h. Runs on the drain
 * thread. Never touches the disk: /proc is all that it reads. */
#define _GNU_SOURCE
#include "live/drain/image.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/io.h"
#include "format/atomics.h"
#include "format/ticks.h"

enum {
	/* Stamps may be estimates that run ahead of the counter. */
	MARGIN_TICKS = 16384,
	PATH_MAX_NODES = 1 << 16,
};

/* How long an event waits for one that must come before it, in time during which events came: first
 * until stamps no longer count, then until it is given up. A thread may lose the CPU between stamp
 * and publish for as long as a busy machine likes. */
static const u64 RELAX_NS = 200000000, WAIT_NS = 2000000000;

/* A cycle counts at most this much: a program that is stopped does not make events give up. */
static const u64 CYCLE_NS_MAX = 20000000;

static int reallocs_tell(struct image *self, struct err *err);

void image_fail(struct image *self, const struct err *err)
{
	if (self->failed)
		return;
	self->failed = true;
	self->error = *err;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int marks_tell(struct image *self, u64 until, bool last, struct err *err);

static int image_tell(struct image *self, const struct image_start *start, struct err *err)
{
	const struct hw_control *control = self->berth.control;
	struct stream_image told = {
		.pid = self->berth.pid,
		.parent_pid = self->berth.parent_pid,
		.number = start->number,
		.arch = load_relaxed(&control->arch),
		.start_ticks =
			start->at.ticks ? start->at.ticks : load_relaxed(&control->start_ticks),
		.start_ns = start->at.ticks ? start->at.ns : load_relaxed(&control->start_ns),
		.sample_bytes = start->sample_bytes,
		.flags = start->flags,
		.access = image_access_mode(self),
		.program = self->program,
		.command = self->command,
	};

	return stream_tell(&self->sink, image, &told, err);
}

struct image *image_new(const struct berth *berth, const struct image_start *start,
			const struct stream_sink *sink, struct err *err)
{
	struct image *self = calloc(1, sizeof(*self));

	if (!self)
		goto no_memory;
	self->berth = *berth;
	self->sink = *sink;
	self->number = start->number;
	self->prepare = start->prepare;
	self->prepares = start->prepare;
	self->tap = start->tap;
	self->claims = start->flags & HW_RUN_LASTING;
	self->margin_ticks = MARGIN_TICKS + ((u64)1 << (start->stamp_shift & 31));
	self->program = strdup(start->program);
	self->command = strdup(start->command);
	self->contexts_told = calloc(berth->layout.nodes_max / 64 + 1, sizeof(u64));
	self->correlator = correlator_new(sink, start->sample_bytes != 0);
	if (!self->program || !self->command || !self->contexts_told || !self->correlator)
		goto no_memory;
	self->contexts_told[0] = 1;
	if (image_tell(self, start, err) < 0) {
		image_free(self);
		return NULL;
	}
	return self;
no_memory:
	image_free(self);
	err_memory_for(err, "an image");
	return NULL;
}

void image_free(struct image *self)
{
	if (!self)
		return;
	modlog_release(self);
	for (u64 i = 0; i < self->slots.count; i++)
		free(self->slots.data[i].gathers);
	vec_release(&self->slots);
	vec_release(&self->sources);
	vec_release(&self->contexts);
	vec_release(&self->path);
	vec_release(&self->marks);
	vec_release(&self->looks);
	vec_release(&self->hits);
	correlator_free(self->correlator);
	free(self->contexts_told);
	free(self->program);
	free(self->command);
	free(self);
}

static void totals_add_faults(const struct image *self, struct stream_totals *totals)
{
	static const u8 dropping[] = {HW_FAULT_RING_FULL, HW_FAULT_NESTED_FULL, HW_FAULT_NO_SLOT,
				      HW_FAULT_NO_MEMORY, HW_FAULT_SAMPLE_FULL, HW_FAULT_SANDBOX};
	u64 dropped = 0;

	for (u32 i = 0; i < HW_FAULT_COUNT; i++)
		totals->faults[i] =
			load_relaxed(&self->berth.control->faults[i]) - self->faults_before[i];
	for (u32 i = 0; i < sizeof(dropping); i++)
		dropped += totals->faults[dropping[i]];
	/* HW_LOST records tell where in a ring events are missing; the counters also know of those
	 * for which there was no ring, and are complete when the last record never came. */
	if (totals->lost_events < dropped)
		totals->lost_events = dropped;
}

/* Signals that a wrong call of the allocator ends in. */
static bool signal_is_fault(int number)
{
	return number == SIGABRT || number == SIGSEGV || number == SIGBUS || number == SIGILL ||
	       number == SIGTRAP;
}

int image_end(struct image *self, const struct stream_image_end *end, struct stream_totals *totals,
	      struct err *err)
{
	struct stream_image_end told = *end;
	int status = self->failed ? 0 : marks_tell(self, UINT64_MAX, true, err);

	prepare_hurry(self->prepare);
	if (!self->failed && end->how == IMAGE_KILLED && signal_is_fault(end->value))
		status = reallocs_tell(self, err);
	if (!self->failed && status == 0)
		status = correlator_finish(self->correlator, err);
	if (status == 0 && !self->failed)
		status = correlator_tell_aggregates(self->correlator, err);
	if (status == 0 && !self->failed)
		status = image_note_accesses(self, err);
	if (status == 0 && !self->failed)
		status = image_note_routines(self, err);
	correlator_totals(self->correlator, &told.totals);
	totals_add_faults(self, &told.totals);
	*totals = told.totals;
	if (status == 0 && !self->failed && self->sink.image_end)
		status = self->sink.image_end(self->sink.self, &told, err);
	if (self->failed) {
		*err = self->error;
		return err->code;
	}
	return status;
}

void image_aggregate(struct image *self)
{
	struct err err = {0};

	if (image_flush_routines(self, &err) < 0 ||
	    correlator_aggregate(self->correlator, hw_ticks(), &err) < 0)
		image_fail(self, &err);
	self->aggregating = true;
}

/* ---- another recording of the same image ----------------------------------------------------- */

void image_rest(struct image *self)
{
	self->resting = true;
	self->failed = true;
}

static void image_forget(struct image *self)
{
	memset(self->names_told, 0, sizeof(self->names_told));
	vec_clear(&self->contexts);
	vec_clear(&self->marks);
	image_forget_accesses(self);
	image_forget_routines(self);
	image_forget_looks(self);
	self->batch_count = 0;
	self->threads = 0;
	self->saved_allocations = 0;
	for (u64 i = 0; i < self->slots.count; i++) {
		self->slots.data[i].thread = NO_THREAD; /* told at its next record */
		memset(self->slots.data[i].types, 0, sizeof(self->slots.data[i].types));
	}
	for (u32 i = 0; i < HW_FAULT_COUNT; i++)
		self->faults_before[i] = load_relaxed(&self->berth.control->faults[i]);
}

int image_restart(struct image *self, const struct image_start *start,
		  const struct stream_sink *sink, struct err *err)
{
	struct correlator *correlator = correlator_new(sink, start->sample_bytes != 0);
	u64 *contexts_told = calloc(self->berth.layout.nodes_max / 64 + 1, sizeof(u64));
	int status;

	if (!correlator || !contexts_told) {
		correlator_free(correlator);
		free(contexts_told);
		return err_memory_for(err, "an image");
	}
	correlator_free(self->correlator);
	free(self->contexts_told);
	self->correlator = correlator;
	self->contexts_told = contexts_told;
	contexts_told[0] = 1;
	correlator_expect_strangers(correlator);
	image_forget(self);
	self->sink = *sink;
	self->number = start->number;
	self->resting = self->failed = false;
	self->error.code = 0;
	status = image_tell(self, start, err);
	if (status == 0)
		status = modlog_tell_again(self, err);
	if (status < 0)
		image_fail(self, err);
	return status;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_name(const struct image *self, u32 tid, char *name, u64 bytes)
{
	struct strbuf text = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", self->berth.pid, tid);
	if (io_read_file(path, 256, &text, NULL) == 0 && text.count)
		snprintf(name, bytes, "%.*s", (int)strcspn(text.text, "\n"), text.text);
	strbuf_release(&text);
}

static int thread_tell(struct image *self, u32 slot, u32 tid, u64 ticks, struct err *err)
{
	struct stream_thread thread = {.index = self->threads, .tid = tid, .start_ticks = ticks};

	thread_name(self, tid, thread.name, sizeof(thread.name));
	self->slots.data[slot].thread = self->threads++;
	return stream_tell(&self->sink, thread, &thread, err);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static bool context_add(struct image *self, u32 id, u32 parent, const struct hw_node *node)
{
	struct stream_context context = {.id = id,
					 .parent = parent,
					 .pc = node->pc,
					 .flags = node->flags};

	self->contexts_told[id / 64] |= (u64)1 << (id % 64);
	return vec_push(&self->contexts, context);
}

/* Queues a context for telling, its unknown ancestors before it. A chain that does not end, or that
 * leaves the table, was damaged: the context then stands alone. */
static int context_tell(struct image *self, u32 id, struct err *err)
{
	const struct hw_node *nodes = berth_nodes(&self->berth);
	u32 at = id, parent;

	vec_clear(&self->path);
	while (at && at < self->berth.layout.nodes_max && !image_context_is_told(self, at) &&
	       self->path.count < PATH_MAX_NODES) {
		if (!vec_push(&self->path, at))
			return err_memory_for(err, "contexts");
		at = load_relaxed(&nodes[at].parent);
	}
	if (at >= self->berth.layout.nodes_max || self->path.count == PATH_MAX_NODES) {
		self->damaged++;
		self->path.data[0] = id;
		self->path.count = 1;
		at = 0;
	}
	parent = at;
	for (u64 i = self->path.count; i-- > 0; parent = self->path.data[i]) {
		struct hw_node node = nodes[self->path.data[i]];

		if (!context_add(self, self->path.data[i], parent, &node))
			return err_memory_for(err, "contexts");
	}
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

int image_feed(struct image *self, struct err *err)
{
	u32 count = self->batch_count;
	int status = 0;

	self->batch_count = 0;
	if (self->contexts.count && self->sink.contexts)
		status = self->sink.contexts(self->sink.self, self->contexts.data,
					     self->contexts.count, err);
	modlog_prepare(self, self->contexts.data, self->contexts.count);
	vec_clear(&self->contexts);
	if (status == 0)
		status = image_flush_routines(self, err);
	return status < 0 ? status : correlator_feed(self->correlator, self->batch, count, err);
}

/* A name is told before what has it. */
int image_tell_name(struct image *self, u32 id, struct err *err)
{
	struct stream_name told = {.id = id};
	struct hw_name name;

	if (self->names_told[id / 64] >> (id % 64) & 1)
		return 0;
	self->names_told[id / 64] |= (u64)1 << (id % 64);
	name = berth_names(&self->berth)[id];
	name.text[sizeof(name.text) - 1] = 0;
	told.text = name.text;
	return stream_tell(&self->sink, name, &told, err);
}

static u32 why_of_mark(u32 mark)
{
	return mark == HW_MARK_SNAPSHOT ? MEMORY_SNAPSHOT : MEMORY_MARK;
}

static int mark_prepare(struct image *self, struct hw_record *record, struct err *err)
{
	if (!hw_mark_is_named(record->aux) || !record->address)
		return 0;
	if (record->address >= HW_NAMES) {
		self->damaged++;
		record->address = 0;
		return 0;
	}
	return image_tell_name(self, (u32)record->address, err);
}

/* Threads, unknown contexts, marks, accesses, routines, types and damaged records: all that is
 * rare. 1 = the record is not to be fed. */
static int image_prepare(struct image *self, u32 slot, bool nested, struct hw_record *record,
			 struct err *err)
{
	u32 *thread = &self->slots.data[slot].thread;
	int status = 0;

	if (record->kind == HW_THREAD)
		return thread_tell(self, slot, (u32)record->address, record->ticks, err);
	if (*thread == NO_THREAD)
		status = thread_tell(self, slot, load_relaxed(&berth_slot(&self->berth, slot)->tid),
				     record->ticks, err);
	if (record->kind >= HW_KIND_COUNT) {
		self->damaged++;
		record->kind = HW_NONE;
	}
	if (status == 0 && record->kind == HW_TYPE) /* its context is none */
		return image_add_type(self, &self->slots.data[slot], nested, record, err);
	if (record->context >= self->berth.layout.nodes_max) {
		self->damaged++;
		record->context = 0;
	}
	if (status == 0 && record->kind == HW_ACCESS)
		return image_add_part(self, &self->slots.data[slot], nested, record, err);
	if (status == 0 && (record->kind == HW_ENTER || record->kind == HW_LEAVE))
		return image_add_routine(self, *thread, record, err);
	if (status == 0 && record->context && !image_context_is_told(self, record->context))
		status = context_tell(self, record->context, err);
	if (status == 0 && record->kind == HW_HIT)
		return image_add_hit(self, record, err);
	if (status == 0 && record->kind == HW_MARK) {
		self->marked = why_of_mark(record->aux);
		status = mark_prepare(self, record, err);
	}
	return status;
}

int image_add_rare(struct image *self, u32 slot, bool nested, struct told_record *told,
		   struct err *err)
{
	struct hw_record *record = &told->record;
	int status;

	if (nested)
		record->flags |= HW_RECORD_NESTED;
	status = image_prepare(self, slot, nested, record, err);
	if (status != 0)
		return status < 0 ? status : 0;
	told->thread = self->slots.data[slot].thread;
	if (self->has_routines && record->address &&
	    (hw_kind_allocates(record->kind) || hw_kind_frees(record->kind))) {
		status = image_add_step(self, told->thread, record, err);
		if (status < 0)
			return status;
	}
	if (++self->batch_count < IMAGE_BATCH)
		return 0;
	return image_feed(self, err);
}

void image_mark(struct image *self, u32 mark)
{
	struct hw_record record = {
		.ticks = hw_ticks(),
		.kind = HW_MARK,
		.aux = (u16)mark,
		.address = mark == HW_MARK_SNAPSHOT,
	};

	self->marked = why_of_mark(mark);
	if (!vec_push(&self->marks, record))
		image_fail(self, &(struct err){.code = ERR_MEMORY, .text = "out of memory"});
}

/* Marks that were made up to a moment. A mark needs a thread: it waits for the first one, or, if
 * none comes, gets the main thread. */
static int marks_tell(struct image *self, u64 until, bool last, struct err *err)
{
	struct stream_thread thread = {.tid = self->berth.pid};
	u64 count = 0;
	int status = 0;

	if (!self->marks.count || (!self->threads && !last))
		return 0;
	if (!self->threads) {
		self->threads++;
		thread.start_ticks = self->marks.data[0].ticks;
		if (self->sink.thread)
			status = self->sink.thread(self->sink.self, &thread, err);
	}
	for (; count < self->marks.count && self->marks.data[count].ticks <= until && status == 0;
	     count++) {
		struct told_record told = {.record = self->marks.data[count]};

		status = correlator_feed(self->correlator, &told, 1, err);
	}
	self->marks.count -= count;
	memmove(self->marks.data, self->marks.data + count,
		self->marks.count * sizeof *self->marks.data);
	return status;
}

int image_marks_feed(struct image *self, u64 until, struct err *err)
{
	int status = image_feed(self, err);

	return status < 0 ? status : marks_tell(self, until, false, err);
}

static void image_release_waiting(struct image *self, struct err *err)
{
	int status = 0;

	if (self->active_ns > RELAX_NS)
		status = correlator_relax(self->correlator, self->active_ns - RELAX_NS, err);
	if (status == 0 && self->active_ns > WAIT_NS)
		correlator_expire(self->correlator, self->active_ns - WAIT_NS, err);
}

u64 image_cycle(struct image *self, u64 elapsed_ns, bool last)
{
	struct err err = {0};
	u64 ticks = last ? UINT64_MAX : hw_ticks(), count;

	self->clock_ns += elapsed_ns;
	correlator_set_time(self->correlator, self->active_ns);
	count = merge_cycle(self, last, &err);
	if (count)
		self->active_ns += elapsed_ns < CYCLE_NS_MAX ? elapsed_ns : CYCLE_NS_MAX;
	if (!err.code && !self->failed)
		marks_tell(self, UINT64_MAX, false, &err);
	if (!err.code && !self->failed && correlator_waiting(self->correlator))
		image_release_waiting(self, &err);
	if (!err.code && !self->failed && self->looks.count)
		image_look(self, ticks, &err);
	if (!err.code && !self->failed && self->tap)
		image_tap_cycle(self, &err);
	if (err.code)
		image_fail(self, &err);
	return count;
}

/* ---- what was never recorded ----------------------------------------------------------------- */

/* The context of a call of which only the return address is known, below the newest generation. */
static u32 context_of_pc(struct image *self, u32 slot, u64 pc, struct err *err)
{
	const struct hw_node *nodes = berth_nodes(&self->berth);
	u32 used = load_relaxed(&self->berth.control->nodes_used), id = used + slot, root = 0;
	struct hw_node node = {.pc = pc};

	if (used >= self->berth.layout.nodes_max || id >= self->berth.layout.nodes_max)
		return 0;
	for (u32 i = 1; i < used; i++)
		if (!nodes[i].parent && nodes[i].pc && nodes[i].pc < HW_GENERATION_LIMIT &&
		    (!root || nodes[i].pc > nodes[root].pc))
			root = i;
	if ((root && !image_context_is_told(self, root) && context_tell(self, root, err) < 0) ||
	    !context_add(self, id, root, &node))
		return 0;
	return id;
}

/* A realloc that the program died in and whose block does not live: the allocator ended it for
 * that, before it could be recorded. */
static int reallocs_tell(struct image *self, struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < self->slots.count && status == 0; i++) {
		const struct hw_slot *shared = berth_slot(&self->berth, i);
		const struct ring_cursor *ring = &self->slots.data[i].ring;
		struct hw_record record = {.address = load_relaxed(&shared->realloc_address),
					   .kind = HW_REALLOC_FREE};

		if (!record.address || !ring->tail ||
		    correlator_lives(self->correlator, record.address))
			continue;
		record.ticks = ring->records[(ring->tail - 1) & ring->mask].ticks + 1;
		record.context = context_of_pc(self, i, load_relaxed(&shared->realloc_pc), err);
		image_next(self)->record = record;
		status = image_add(self, i, false, image_next(self), err);
		if (status == 0)
			status = image_feed(self, err);
	}
	return status;
}
