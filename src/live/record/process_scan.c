/* SPDX-License-Identifier: MIT
 * The drain thread's part in the scan of a process: starts it when the recorder, or somebody else,
 * asks, reads the last events for it, and tells what came of it. Never waits for it. */
#include "live/record/process.h"

#include <stdio.h>

#include "format/allocators.h"
#include "format/atomics.h"

/* Why the live blocks are not all known, so that a scan would call lost what is not; or NULL. */
static const char *blocks_unknown(const struct process *self, const struct berths_options *options)
{
	static const u8 dropping[] = {HW_FAULT_RING_FULL, HW_FAULT_NESTED_FULL, HW_FAULT_NO_SLOT,
				      HW_FAULT_NO_MEMORY};
	const struct hw_control *control = self->image->berth.control;

	if (options->pools_count || options->allocators & ~hw_allocators_default() ||
	    load_relaxed(&control->objects_told))
		return "the leak scan does not cover memory of custom allocators";
	if (options->sample_bytes)
		return "only a sample of the allocations was recorded";
	if (correlator_has_strangers(self->image->correlator) || load_relaxed(&control->paused))
		return "the recording was paused or restarted, so earlier blocks are unknown";
	for (u32 i = 0; i < sizeof(dropping); i++) {
		if (load_relaxed(&control->faults[dropping[i]]))
			return "events were lost";
	}
	if (self->image->failed)
		return "the recording failed";
	return NULL;
}

static void scan_fail(struct process *self, const char *reason)
{
	struct stream_totals totals;
	struct err err = {0};

	correlator_totals(self->image->correlator, &totals);
	if (!self->image->failed &&
	    (scan_tell_failure(&self->sink, totals.kept_chunks, reason, &err) < 0 ||
	     (self->due.wanted &&
	      stream_tell(&self->sink, note, "owners_failed", reason, &err) < 0)))
		process_fail(self, &err);
	self->scan_told = true;
}

static bool keeps_owners(const struct process *self, u32 when, bool at_once)
{
	return at_once ? when || is_asked(self, ASK_OWNERS) : when & OWNERS_END;
}

static struct scan *scan_new(struct process *self, const struct berths *berths, bool at_once,
			     struct err *err)
{
	bool asked = is_asked(self, ASK_OWNERS);
	u32 how = berths->options.owners_how | (asked ? load_relaxed(&self->owners_how) : 0);
	struct scan_start start = {.berth = &self->image->berth,
				   .pid = self->pid,
				   .at_once = at_once,
				   .owners = keeps_owners(self, berths->options.owners, at_once),
				   .background = how & OWNERS_BACKGROUND,
				   .contents = how & OWNERS_CONTENTS,
				   .berths = berths,
				   .correlator = self->image->correlator};

	return scan_start(&start, err);
}

/* Scans the memory of a program that runs: it stands still meanwhile, and the trace has the classes
 * of that moment until a later scan. 0 when it has begun. */
static int scan_request(struct process *process, const struct berths *berths, struct err *err)
{
	const char *reason = process->image ? blocks_unknown(process, &berths->options)
					    : "nothing is being recorded";

	if (process->image && process->image->resting)
		reason = "the recording was stopped";
	if (process->scan)
		reason = "a scan is already running";
	if (reason)
		return err_set(err, ERR_INPUT, "%s", reason);
	process->scan = scan_new(process, berths, true, err);
	return process->scan ? 0 : err->code;
}

/* The recorder asks to be watched. */
static void scan_begin(struct process *self, struct berths *berths)
{
	const char *reason = blocks_unknown(self, &berths->options);
	struct err err = {0};

	if (self->image->resting) { /* stopped: there is no file to tell */
		self->scan_told = true;
		scan_decline(self->image->berth.control);
		return;
	}
	if (!self->writer && self->tap && self->tap->wants_last_scan &&
	    !self->tap->wants_last_scan(self->tap->self, clock_now().ns)) {
		self->scan_told = true;
		scan_decline(self->image->berth.control);
		return;
	}
	prepare_hurry(self->image->prepare); /* the program is about to end */
	/* most of the trace is compressed and written while we look at it */
	process_tick(self);
	process_look(self, berths, MEMORY_LAST);
	if (!reason) {
		self->scan = scan_new(self, berths, false, &err);
		reason = self->scan ? NULL : err.text;
	}
	if (!self->scan) {
		scan_fail(self, reason);
		scan_decline(self->image->berth.control);
	}
}

bool process_pressed(const struct process *self)
{
	u32 stage = self->scan ? scan_stage(self->scan) : SCAN_WATCHING;

	if (self->scan)
		return stage == SCAN_WANTS_EVENTS || stage == SCAN_OVER;
	if (self->due.at_mark)
		return true;
	return self->image && !self->scan_told && load_acquire(&self->writer_state) &&
	       load_acquire(&self->image->berth.control->leaving) == HW_LEAVING_ASKED;
}

/* Somebody outside asks for a scan while the program runs. */
static void scan_serve(struct process *self, struct berths *berths)
{
	struct err err = {0};

	if (scan_request(self, berths, &err) == 0)
		return;
	self->scanned = (struct stream_scan){.state = SCAN_FAILED};
	snprintf(self->scan_reason, sizeof(self->scan_reason), "%s", err.text);
	ask_finish(self, ASK_SCAN, 0);
	ask_finish(self, ASK_OWNERS, 0);
	process_mark_scanned(self);
}

/* Whoever waits for it is on another thread, and reads it once the answer is there. */
static void scan_answer(struct process *self)
{
	self->scanned = *scan_result(self->scan);
	snprintf(self->scan_reason, sizeof(self->scan_reason), "%s", self->scanned.reason);
	self->scanned.reason = NULL;
	ask_finish(self, ASK_SCAN, 0);
	if (scan_has_owners(self->scan)) /* else another scan is due */
		ask_finish(self, ASK_OWNERS, 0);
}

static void scan_end(struct process *self)
{
	struct err err = {0};

	self->scan_told = !scan_is_at_once(self->scan);
	if (self->image->aggregating)
		scan_drop_owners(self->scan, "the size limit of the trace was reached");
	if (!self->image->failed && correlator_flush(self->image->correlator, &err) == 0)
		scan_tell(self->scan, &self->sink, &err);
	if (!self->scan_told) {
		scan_answer(self);
		process_owners_done(self, self->scanned.scan_ns, scan_pointers(self->scan));
	}
	process_mark_scanned(self);
	scan_free(self->scan);
	self->scan = NULL;
	if (err.code)
		process_fail(self, &err);
}

static bool owners_due(struct process *self, const struct berths_options *options)
{
	return (self->due.at_mark || options->owners & OWNERS_RUNNING) &&
	       process_owners_due(self, options,
				  !self->image->resting && !blocks_unknown(self, options));
}

bool process_scan_cycle(struct process *self, struct berths *berths)
{
	struct err err = {0};

	if (!self->image)
		return false;
	self->due.wanted = berths->options.owners;
	if (!self->scan && !self->scan_told &&
	    load_acquire(&self->image->berth.control->leaving) == HW_LEAVING_ASKED)
		scan_begin(self, berths);
	if (!self->scan && (is_asked(self, ASK_SCAN) || is_asked(self, ASK_OWNERS) ||
			    self->image->scan_wanted || owners_due(self, &berths->options)))
		scan_serve(self, berths);
	self->image->scan_wanted = false;
	store_relaxed(&self->image->berth.control->sorting, self->scan != NULL);
	if (!self->scan)
		return false;
	switch (scan_stage(self->scan)) {
	case SCAN_WANTS_EVENTS:
		image_cycle(self->image, 0, true);
		/* A program that runs on will still tell what the waiting events wait for. */
		if (!self->image->failed && !scan_lets_run(self->scan) &&
		    correlator_finish(self->image->correlator, &err) < 0)
			image_fail(self->image, &err);
		scan_give_events(self->scan, blocks_unknown(self, &berths->options));
		return true;
	case SCAN_HAS_EVENTS: return true;
	case SCAN_SORTING: process_mark_scanned(self); return false;
	case SCAN_OVER: scan_end(self); return false;
	default: return false;
	}
}

void process_scan_explain(struct process *self, const struct stream_image_end *end)
{
	const struct hw_control *control = self->image->berth.control;
	char reason[128];

	if (self->scan_told || !(control->flags & HW_RUN_LEAK_SCAN))
		return;
	if (end->how == IMAGE_KILLED)
		snprintf(reason, sizeof(reason), "the program was killed by signal %d", end->value);
	else if (end->how == IMAGE_DETACHED)
		snprintf(reason, sizeof(reason),
			 "the recording was stopped before the program ended");
	else
		snprintf(reason, sizeof(reason),
			 "the program ended without calling exit, _exit or quick_exit%s",
			 self->root ? "" : ", or by a signal");
	scan_fail(self, reason);
}
