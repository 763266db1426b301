/* SPDX-License-Identifier: MIT
 * Leads a scan from the recorder's question to its result; see scan.h for who does what. Runs on a
 * thread of its own, except where it says drain thread. A process is never held longer than the
 * limits below, and the end of this thread lets it go in any case. */
#define _GNU_SOURCE
#include "live/scan/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "format/shadow.h"
#include "format/ticks.h"
#include "host/base/clock.h"
#include "live/drain/futex.h"
#include "live/scan/edges.h"
#include "live/scan/fork.h"
#include "live/scan/graph.h"
#include "live/scan/mark.h"
#include "live/scan/roots.h"
#include "live/scan/stacks.h"
#include "live/scan/trace.h"

static const u64 EXIT_NS = 30000000000;   /* from the question to the end of the process */
static const u64 EVENTS_NS = 10000000000; /* to read the last events */
static const u64 SCAN_NS = 120000000000;  /* for the scan itself */
static const u64 POLL_NS = 20000000;

enum { OWN_MAX = 1 << 16 };

struct scan {
	u32 stage; /* futex, enum scan_stage */
	u32 stop;  /* drain thread: give up */
	pthread_t thread;
	u32 pid;
	struct hw_control *control;
	const struct correlator *correlator;
	struct hw_lobby *lobby;
	struct scan_hub *hub;
	u32 interrupts;          /* of the hub, at the start */
	char folder[256];        /* of session files, "" = memfds */
	char events_reason[256]; /* drain thread: why the events do not suffice */

	/* scan's thread, then drain thread */
	struct tracer tracer;
	bool at_end; /* the program has asked, and waits for an answer */
	bool answered;
	bool owners;
	bool background, contents;
	bool departed; /* it had ended before we could look: it waits for us two seconds only */
	struct stream_scan result;
	struct err error;
	struct stream_class *classes;
	u64 count;
	u64 released_ns;         /* CLOCK_MONOTONIC, when the process was let go; 0 = it was not */
	struct scan_graph graph; /* if owners are wanted */
	struct err graph_error;  /* why there is none */
	bool forked;             /* the program ran while its memory was read */
	struct err fork_error;   /* why it did not, if that was wanted */
	u64 fork_missing_bytes;  /* that could not be read */
};

/* ---- signals between threads ----------------------------------------------------------------- */

void scan_decline(struct hw_control *control)
{
	store_release(&control->leaving, HW_LEAVING_ANSWERED);
	futex_wake(&control->leaving, INT_MAX);
}

static void drain_ring(struct scan *self)
{
	add_acq_rel(&self->lobby->bell, 1);
	futex_wake(&self->lobby->bell, INT_MAX);
}

u32 scan_stage(const struct scan *self)
{
	return load_acquire(&self->stage); /* pairs with the releases of both threads */
}

static bool is_given_up(const struct scan *self)
{
	return load_relaxed(&self->stop) ||
	       load_relaxed(&self->hub->interrupts) != self->interrupts;
}

/* ---- watching the process -------------------------------------------------------------------- */

/* Whether the process that we know by this number is the one that asked: it may be in a namespace
 * where it has another. Also finds out whether we may look at all. */
static int process_check(struct scan *self, u32 tid, struct err *err)
{
	struct scan_memory memory = SCAN_MEMORY_CLOSED;
	u64 wanted = load_relaxed(&self->control->start_ticks), found = 0;

	memory.pid = self->pid;
	memory.tid = tid;
	errno = 0;
	if (!scan_memory_peek(&memory, load_relaxed(&self->control->witness), &found)) {
		self->departed = errno == ESRCH;
		if (self->departed)
			return err_set(err, ERR_SYSTEM, "the program ended before the scan began");
		return err_set(err, ERR_SYSTEM,
			       "permission to read the program's memory was denied: %s",
			       strerror(errno ? errno : EFAULT));
	}
	if (found != wanted)
		return err_set(err, ERR_SYSTEM, "the process was not found by its pid");
	return 0;
}

static int wait_for_the_end(struct scan *self, struct err *err)
{
	u64 limit = now_ns() + EXIT_NS;

	for (;;) {
		u32 bell = load_acquire(&self->hub->children);

		switch (tracer_poll(&self->tracer)) {
		case TRACER_STOPPED: return 0;
		case TRACER_GONE:
			return err_set(err, ERR_SYSTEM, "the process was killed during the scan");
		case TRACER_RUNNING: break;
		}
		if (is_given_up(self))
			return err_set(err, ERR_SYSTEM, "it was interrupted");
		if (now_ns() > limit)
			return err_set(err, ERR_SYSTEM,
				       "the program kept running for more than %u seconds after "
				       "exit",
				       (u32)(EXIT_NS / 1000000000));
		futex_wait(&self->hub->children, bell, POLL_NS);
	}
}

static int wait_for_events(struct scan *self, struct err *err)
{
	u64 limit = now_ns() + EVENTS_NS;

	store_release(&self->stage, SCAN_WANTS_EVENTS); /* pairs with scan_stage */
	while (scan_stage(self) == SCAN_WANTS_EVENTS) {
		u32 wanted = SCAN_WANTS_EVENTS;

		drain_ring(self);
		futex_wait(&self->stage, SCAN_WANTS_EVENTS, POLL_NS);
		/* Taken back, so that the drain thread does not answer later. */
		if ((now_ns() > limit || is_given_up(self)) &&
		    cas_acq_rel(&self->stage, &wanted, SCAN_WATCHING))
			return err_set(err, ERR_SYSTEM,
				       "the last events could not be read in time");
	}
	if (self->events_reason[0])
		return err_set(err, ERR_SYSTEM, "%s", self->events_reason);
	return 0;
}

/* ---- scanning -------------------------------------------------------------------------------- */

struct scanning {
	struct scan_memory memory;
	struct scan_index index;
	struct scan_roots roots;
	struct scan_edges edges;
	struct scan_mark mark;
	struct scan_thread *threads;
	u64 thread_count;
	struct scan_fork fork;
	struct scan_contents contents;
	struct hw_range *own;
	u64 own_count;
	struct scan_surroundings around;
	/* if all pointers are kept */
	struct scan_pointers pointers; /* in roots */
	struct scan_numbers numbers;   /* beside these */
	struct scan_modules modules;
};

static bool serves_heap(const struct hw_control *control)
{
	u32 access = load_relaxed(&control->access);

	return access == HW_ACCESS_EXACT || access == HW_ACCESS_ADAPTIVE;
}

static void own_read(struct scan *self, struct scanning *s)
{
	u64 count = load_relaxed(&self->control->own_maps_count);

	if (count > OWN_MAX)
		count = OWN_MAX;
	s->own = calloc(count + 1, sizeof(*s->own));
	if (s->own && scan_memory_read(&s->memory, load_relaxed(&self->control->own_maps), s->own,
				       count * sizeof(*s->own)))
		s->own_count = count;
	if (s->own && serves_heap(self->control))
		s->own[s->own_count++] = (struct hw_range){HW_HEAP_START, HW_HEAP_BYTES};
}

static void roots_mark(struct scan *self, struct scanning *s)
{
	for (u64 i = 0; i < s->thread_count; i++) {
		for (u32 k = 0; k < s->threads[i].register_count; k++)
			scan_mark_value(&s->mark, s->threads[i].registers[k]);
	}
	for (u64 i = 0; i < s->roots.spans.count; i++) {
		const struct scan_span *span = &s->roots.spans.data[i];

		self->result.roots_bytes += scan_mark_range(&s->mark, span->start, span->end);
		self->result.roots_bytes += scan_fork_each_word(&s->fork, span->start, span->end,
								scan_mark_words, &s->mark);
	}
}

static int classes_take(struct scan *self, struct scanning *s, struct err *err)
{
	u64 count = s->index.blocks.count;
	struct stream_class *classes = calloc(count + 1, sizeof(*classes));

	if (!classes)
		return err_memory(err);
	self->classes = classes;
	for (u64 i = 0; i < count; i++) {
		const struct scan_block *block = &s->index.blocks.data[i];

		classes[i] = (struct stream_class){block->chunk, s->mark.classes[i]};
		self->result.class_chunks[classes[i].chunk_class]++;
		self->result.class_bytes[classes[i].chunk_class] += block->size;
	}
	/* lost or not, as large as the program says */
	for (u64 i = 0; i < s->index.cuts.count; i++)
		self->result.class_bytes[s->mark.classes[s->index.cuts.data[i].block]] +=
			s->index.cuts.data[i].bytes;
	if (!scan_sort(classes, count, sizeof(*classes)))
		return err_memory(err);
	self->count = count;
	return 0;
}

/* What must be known of the pointers while the program stands still; the rest can wait. */
static bool owners_prepare(struct scan *self, struct scanning *s)
{
	const struct scan_region *last = &s->index.regions.data[s->index.regions.count - 1];

	if (!self->owners)
		return false;
	s->pointers.low = s->index.regions.data[0].start;
	s->numbers.most = s->index.bytes;
	if ((last->end - s->pointers.low) >> (64 - POINTER_STEP_BITS)) {
		err_set(&self->graph_error, ERR_SYSTEM, "the blocks are too far apart");
		return false;
	}
	scan_stacks_copy(&s->memory, s->threads, s->thread_count);
	return true;
}

/* A scan without it is worth telling. */
static void owners_find(struct scan *self, struct scanning *s)
{
	struct scan_graph_source from = {.index = &s->index,
					 .edges = &s->edges,
					 .roots = &s->pointers,
					 .root_numbers = &s->numbers.kept,
					 .threads = s->threads,
					 .thread_count = s->thread_count,
					 .contents = s->contents.keys ? &s->contents : NULL};

	if (self->graph_error.code)
		return;
	scan_stacks_unwind(&s->modules, s->threads, s->thread_count);
	if (scan_places_find(&self->graph.places, &s->around, &s->modules, &self->graph_error) <
		    0 ||
	    scan_graph_make(&self->graph, &from, &self->graph_error) < 0)
		scan_graph_release(&self->graph);
}

/* What can only be known of the program itself. */
static int program_open(struct scan *self, struct scanning *s, struct err *err)
{
	if (tracer_threads(&self->tracer, &s->threads, &s->thread_count, err) < 0 ||
	    process_check(self, s->threads[0].tid, err) < 0)
		return err->code;
	return scan_memory_open(&s->memory, self->pid, s->threads[0].tid,
				self->folder[0] ? self->folder : NULL, err);
}

/* Where there can be no copy the program stands still for all of the scan. */
static int copy_make(struct scan *self, struct scanning *s, struct err *err)
{
	bool lost;

	if (scan_fork_make(&s->fork, &self->tracer, self->control, &lost, &self->fork_error) < 0)
		return lost ? err_set(err, ERR_SYSTEM, "%s", self->fork_error.text) : 0;
	self->forked = true;
	scan_fork_complete(&s->fork, &s->memory);
	self->fork_missing_bytes = s->fork.missing_bytes;
	return 0;
}

static int memory_scan(struct scan *self, struct scanning *s, struct err *err)
{
	bool keep;

	if (scan_index_build(&s->index, &s->memory, err) < 0 ||
	    scan_memory_cache(&s->memory, scan_index_span(&s->index), err) < 0)
		return err->code;
	s->memory.patience = (struct scan_patience){
		.deadline_ns = now_ns() + SCAN_NS,
		.cancel = &self->hub->interrupts,
		.cancel_seen = self->interrupts,
	};
	own_read(self, s);
	s->around = (struct scan_surroundings){.memory = &s->memory,
					       .index = &s->index,
					       .threads = s->threads,
					       .thread_count = s->thread_count,
					       .own = s->own,
					       .own_count = s->own_count,
					       .pid = self->pid};
	if (!scan_modules_read(&s->modules, &s->memory))
		return err_memory(err);
	/* variables of the frames that stay are named by all frames */
	if (!self->owners)
		scan_stacks_leave(&s->memory, &s->modules, s->threads, s->thread_count);
	keep = owners_prepare(self, s);
	if (scan_roots_find(&s->roots, &s->around, err) < 0 ||
	    scan_edges_find(&s->edges, &s->memory, &s->index, keep, err) < 0 ||
	    scan_mark_init(&s->mark, &s->memory, &s->index, &s->edges, err) < 0)
		return err->code;
	s->mark.kept = keep ? &s->pointers : NULL;
	s->mark.beside = &s->numbers;
	roots_mark(self, s);
	if (scan_mark_finish(&s->mark, err) < 0)
		return err->code;
	if (!keep || !self->contents)
		return 0;
	return scan_contents_read(&s->contents, &s->memory, &s->index, err);
}

static void recorder_answer(struct scan *self)
{
	if (self->at_end && !self->answered)
		scan_decline(self->control);
	self->answered = true;
}

static void program_release(struct scan *self)
{
	recorder_answer(self);
	tracer_release(&self->tracer);
	self->released_ns = now_ns();
	self->result.ticks = hw_ticks();
}

/* The program tells events again: they must be read, or it waits for us. */
static void events_release(struct scan *self)
{
	store_release(&self->stage, SCAN_SORTING); /* pairs with scan_stage */
	drain_ring(self);
}

static int scan_all(struct scan *self, struct err *err)
{
	struct scanning s = {.memory = SCAN_MEMORY_CLOSED};
	struct stream_totals totals;
	int status = 0;

	correlator_totals(self->correlator, &totals);
	if (totals.kept_chunks)
		status = program_open(self, &s, err);
	if (status == 0 && totals.kept_chunks && self->background)
		status = copy_make(self, &s, err);
	if (self->forked)
		program_release(self);
	if (status == 0)
		status = scan_index_fill(&s.index, self->correlator, err);
	self->result.chunks = s.index.blocks.count;
	if (self->forked)
		events_release(self);
	if (status == 0 && s.index.blocks.count)
		status = memory_scan(self, &s, err);
	if (!self->forked) { /* what is left can be done while the process ends */
		program_release(self);
		events_release(self);
	}
	scan_fork_end(&s.fork);
	if (status == 0 && s.index.blocks.count)
		status = classes_take(self, &s, err);
	if (status == 0 && s.index.blocks.count && self->owners)
		owners_find(self, &s);
	vec_release(&s.pointers.words);
	vec_release(&s.numbers.kept.words);
	scan_modules_release(&s.modules);
	scan_contents_release(&s.contents);
	scan_mark_release(&s.mark);
	scan_edges_release(&s.edges);
	scan_roots_release(&s.roots);
	scan_memory_close(&s.memory);
	scan_index_release(&s.index);
	scan_stacks_release(s.threads, s.thread_count);
	free(s.threads);
	free(s.own);
	return status;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Whether a program that has departed left no live block: then there is nothing to look for. */
static bool is_clean(struct scan *self)
{
	struct stream_totals totals;
	struct err err = {0};

	if (self->tracer.at_once || wait_for_events(self, &err) < 0)
		return false;
	correlator_totals(self->correlator, &totals);
	return totals.kept_chunks == 0;
}

static int scan_lead(struct scan *self, struct err *err)
{
	int status = process_check(self, tracer_find_thread(self->pid), err);

	if (status == 0)
		status = tracer_seize(&self->tracer, self->pid, err);
	if (!self->tracer.at_once)
		recorder_answer(self); /* it is the same: go on */
	if (self->departed)
		return is_clean(self) ? 0 : status;
	if (status == 0)
		status = wait_for_the_end(self, err);
	if (status == 0)
		status = wait_for_events(self, err);
	if (status == 0)
		status = scan_all(self, err);
	if (self->tracer.ending)
		self->result.scan_ns =
			(self->released_ns ? self->released_ns : now_ns()) - self->tracer.ending_ns;
	tracer_release(&self->tracer);
	return status;
}

/* The stage is set by a thread that traces nothing any more only if this thread has ended: whoever
 * joins it knows that the process is free. */
static void *scan_main(void *argument)
{
	struct scan *self = argument;

	if (scan_lead(self, &self->error) < 0) {
		self->result.state = SCAN_FAILED;
		self->count = 0;
	} else {
		self->result.state = SCAN_DONE;
	}
	recorder_answer(self);
	if (!self->released_ns)
		self->result.ticks = hw_ticks();
	store_release(&self->stage, SCAN_OVER); /* pairs with scan_stage */
	drain_ring(self);
	return NULL;
}

/* ---- drain thread ---------------------------------------------------------------------------- */

struct scan *scan_start(const struct scan_start *start, struct err *err)
{
	const struct berths *berths = start->berths;
	struct scan *self = calloc(1, sizeof(*self));
	int status;

	if (!self) {
		err_memory(err);
		return NULL;
	}
	self->pid = start->pid;
	self->at_end = !start->at_once;
	self->tracer.at_once = start->at_once || start->background;
	self->owners = start->owners;
	self->background = start->background;
	self->contents = start->contents;
	self->control = start->berth->control;
	self->correlator = start->correlator;
	self->lobby = berths->lobby;
	self->hub = berths->scans;
	self->interrupts = load_relaxed(&self->hub->interrupts);
	if (berths->files)
		snprintf(self->folder, sizeof(self->folder), "%s", berths->folder);
	status = pthread_create(&self->thread, NULL, scan_main, self);
	if (status != 0) {
		err_set(err, ERR_SYSTEM, "a thread could not be started: %s", strerror(status));
		free(self);
		return NULL;
	}
	return self;
}

bool scan_is_at_once(const struct scan *self) { return !self->at_end; }

bool scan_lets_run(const struct scan *self) { return self->tracer.at_once; }

bool scan_has_owners(const struct scan *self) { return self->owners; }

void scan_give_events(struct scan *self, const char *reason)
{
	u32 wanted = SCAN_WANTS_EVENTS;

	snprintf(self->events_reason, sizeof(self->events_reason), "%s", reason ? reason : "");
	if (cas_acq_rel(&self->stage, &wanted, SCAN_HAS_EVENTS))
		futex_wake(&self->stage, INT_MAX);
}

int scan_tell_failure(const struct stream_sink *sink, u64 chunks, const char *reason,
		      struct err *err)
{
	struct stream_scan scan = {.ticks = hw_ticks(),
				   .state = SCAN_FAILED,
				   .reason = reason,
				   .chunks = chunks};

	return stream_tell(sink, scan, &scan, NULL, 0, err);
}

const struct stream_scan *scan_result(struct scan *self)
{
	struct stream_totals totals;

	self->result.reason = self->result.state == SCAN_DONE ? "" : self->error.text;
	if (self->result.state != SCAN_DONE) {
		correlator_totals(self->correlator, &totals);
		self->result.chunks = totals.kept_chunks;
		memset(self->result.class_chunks, 0, sizeof(self->result.class_chunks));
		memset(self->result.class_bytes, 0, sizeof(self->result.class_bytes));
	}
	return &self->result;
}

u64 scan_pointers(const struct scan *self)
{
	const struct stream_graph *graph = &self->graph.graph;

	return self->graph.starts && !self->graph_error.code
		       ? graph->starts[graph->chunk_count + graph->root_count]
		       : 0;
}

void scan_drop_owners(struct scan *self, const char *reason)
{
	if (self->owners && !self->graph_error.code)
		err_set(&self->graph_error, ERR_SYSTEM, "%s", reason);
}

/* For how long the program stood still for this scan, and why it was not less. */
static int stop_tell(const struct scan *self, const struct stream_sink *sink, struct err *err)
{
	char text[sizeof(self->fork_error.text) + 80];
	const char *how = self->forked ? "background" : "stopped";

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %s %" PRIu64 "%s%s",
		 self->result.ticks, self->result.scan_ns, how, self->fork_missing_bytes,
		 self->fork_error.code ? " " : "", self->fork_error.text);
	return stream_tell(sink, note, "scan_stop", text, err);
}

int scan_tell(struct scan *self, const struct stream_sink *sink, struct err *err)
{
	static const u64 nothing;
	const struct stream_scan *result = scan_result(self);
	int status = stream_tell(sink, scan, result, self->classes, self->count, err);

	if (status < 0 || !self->owners)
		return status;
	if (result->state != SCAN_DONE || self->graph_error.code)
		return stream_tell(sink, note, "owners_failed",
				   result->state == SCAN_DONE ? self->graph_error.text
							      : result->reason,
				   err);
	if (stop_tell(self, sink, err) < 0)
		return err->code;
	if (!self->graph.starts) /* nothing was live */
		self->graph.graph.starts = &nothing;
	self->graph.graph.ticks = result->ticks;
	return stream_tell(sink, graph, &self->graph.graph, err);
}

void scan_free(struct scan *self)
{
	if (!self)
		return;
	store_relaxed(&self->stop, 1);
	pthread_join(self->thread, NULL);
	free(self->classes);
	scan_graph_release(&self->graph);
	vec_release(&self->tracer.threads);
	free(self);
}
