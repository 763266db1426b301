/* SPDX-License-Identifier: MIT
 * Saves, ends, begins and pauses the recording of a process; see process.h. Runs on the drain
 * thread. Never waits: what takes time is looked at again in the next cycle. */
#include "live/record/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/atomics.h"
#include "format/ticks.h"
#include "live/drain/futex.h"

enum doing {
	DOING_NOTHING,
	DOING_SAVE,  /* what was flushed is being written */
	DOING_OPEN,  /* the next file is being opened */
	DOING_CLOSE, /* the last file is being closed */
	DOING_DUMP,  /* a dump is being written */
	DOING_TURN,  /* the next file is being opened; the recording goes on in it */
	DOING_SCAN,  /* a thread of the program waits at a mark, see process_owners.c */
};

/* How long a program may take until it calls us, so that we can call its callback. */
static const u64 CALLBACK_NS = 1000000000;

static bool is_recorded(const struct process *self) { return self->image && !self->image->resting; }

/* ---- answers --------------------------------------------------------------------------------- */

void ask_finish(struct process *self, enum ask_what what, int failure)
{
	struct ask *ask = &self->asks[what];

	store_relaxed(&ask->failure, (u32)failure);
	store_release(&ask->done, load_relaxed(&ask->asked)); /* pairs with whoever waits */
}

bool is_asked(const struct process *self, enum ask_what what)
{
	return load_acquire(&self->asks[what].asked) != self->asks[what].done;
}

static void program_answer(struct process *self, int failure)
{
	struct image *image = self->image;
	struct hw_control *control;

	if (!image || self->doing_image != self->images)
		return; /* who asked is gone */
	control = image->berth.control;
	image->answered++;
	store_relaxed(&control->answer, (u32)failure);
	store_release(&control->answered, image->answered); /* pairs with the recorder's acquire */
	futex_wake(&control->answered, INT_MAX);
}

static void finish(struct process *self, int failure)
{
	self->doing = DOING_NOTHING;
	if (self->for_program)
		program_answer(self, failure);
	else if (self->for_ask != ASK_COUNT)
		ask_finish(self, self->for_ask, failure);
}

static void begin(struct process *self, enum doing doing, bool for_program)
{
	self->for_ask = ASK_STOP;
	self->doing = doing;
	self->doing_image = self->images;
	self->for_program = for_program;
}

static void turn_give(struct process *self, enum process_turn turn)
{
	store_release(&self->turn, turn); /* pairs with the waiting thread's acquire */
	waiting_thread_wake();
}

/* ---- ending and beginning -------------------------------------------------------------------- */

/* A cycle leaves what is very young for the next one: after two of them everything is told that was
 * published before the first. */
static void catch_up(struct process *self)
{
	image_cycle(self->image, 0, false);
	image_cycle(self->image, 0, false);
}

/* The file gets its end. It is to be closed: old_writer. */
static void recording_end(struct process *self)
{
	catch_up(self);
	process_end_recording(self, IMAGE_DETACHED, 0);
	image_rest(self->image);
	self->ended_bytes += self->writer ? trace_writer_bytes(self->writer) : 0;
	self->old_writer = self->writer;
	self->writer = NULL;
	memset(&self->sink, 0, sizeof(self->sink));
	store_release(&self->writer_state, WRITER_STOPPED);
	process_get_path(self, self->old_path);
	process_set_path(self, "");
}

static void close_old(struct process *self)
{
	if (!self->old_writer) {
		finish(self, 0);
		return;
	}
	self->doing = DOING_CLOSE;
	turn_give(self, TURN_CLOSE);
}

static void recording_stop(struct process *self, bool for_program)
{
	begin(self, DOING_CLOSE, for_program);
	store_relaxed(&self->image->berth.control->stopped, HW_STOPPED);
	if (is_recorded(self))
		recording_end(self);
	close_old(self);
}

static int recording_begin(struct process *self, const struct berths_options *options)
{
	struct image_start start = {
		.sample_bytes = options->sample_bytes,
		.flags = options->flags | HW_RUN_CONTINUED,
		.stamp_shift = options->stamp_shift,
		.at = clock_now(),
	};
	struct stream_sink sink;
	struct err err = {0};

	self->writer = self->next_writer;
	self->next_writer = NULL;
	sink = trace_writer_sink(self->writer);
	process_set_sink(self, &sink);
	self->next_number = 1;
	self->recordings++;
	process_set_path(self, self->next_path);
	store_release(&self->writer_state, WRITER_OPEN);
	process_usage_begin(self, 0);
	return image_restart(self->image, &start, &self->sink, &err);
}

/* The program asked for the new file: it shall be recorded there, even if it was paused. */
static void recording_switch(struct process *self, const struct berths_options *options)
{
	struct hw_control *control = self->image->berth.control;

	if (is_recorded(self))
		recording_end(self);
	if (recording_begin(self, options) < 0)
		self->next_errno = ENOMEM;
	store_relaxed(&control->paused, 0);
	store_relaxed(&control->stopped, HW_GO_ON);
	close_old(self);
}

/* The next file is there, or not. */
static void opened(struct process *self, const struct berths_options *options)
{
	store_relaxed(&self->turn, TURN_NONE);
	if (self->next_errno) {
		finish(self, self->next_errno);
		return;
	}
	if (self->image && self->doing_image == self->images) {
		recording_switch(self, options);
		return;
	}
	/* The program has ended meanwhile, or is another one now: the file stays empty. */
	self->old_writer = self->next_writer;
	self->next_writer = NULL;
	snprintf(self->old_path, sizeof(self->old_path), "%s", self->next_path);
	close_old(self);
}

/* ---- one file after the other ---------------------------------------------------------------- */

static bool turn_is_due(const struct process *self, u64 now_ns)
{
	const struct rotation_options *rotate = &self->rotate;

	if (!self->rotation || !is_recorded(self) || !self->writer)
		return false;
	return (rotate->bytes && trace_writer_bytes(self->writer) >= rotate->bytes) ||
	       (rotate->ns && now_ns - self->rotated_ns >= rotate->ns);
}

/* t.hwt, t-2.hwt, t-3.hwt … */
static void turn_begin(struct process *self, u64 now_ns)
{
	const char *dot, *slash;

	if (!self->rotated_ns) {
		self->rotated_ns = now_ns;
		process_get_path(self, self->first_path);
	}
	if (!turn_is_due(self, now_ns))
		return;
	dot = strrchr(self->first_path, '.');
	slash = strrchr(self->first_path, '/');
	if (!dot || dot < slash || dot == self->first_path)
		dot = self->first_path + strlen(self->first_path);
	if (snprintf(self->next_path, sizeof(self->next_path), "%.*s-%llu%s",
		     (int)(dot - self->first_path), self->first_path,
		     (unsigned long long)self->rotated + 2, dot) >= (int)sizeof(self->next_path))
		return;
	self->rotated_ns = now_ns;
	begin(self, DOING_TURN, false);
	self->for_ask = ASK_COUNT;
	turn_give(self, TURN_OPEN);
}

/* The next file is there, or not: then the present one goes on. */
static void turn_end(struct process *self)
{
	struct stream_sink sink;
	struct err err = {0};

	store_relaxed(&self->turn, TURN_NONE);
	if (self->next_errno) {
		finish(self, self->next_errno);
		return;
	}
	process_tick(self);
	self->ended_bytes += trace_writer_bytes(self->writer);
	process_get_path(self, self->old_path);
	self->old_writer = self->writer;
	self->writer = self->next_writer;
	self->next_writer = NULL;
	self->rotated++;
	sink = trace_writer_sink(self->writer);
	if (rotation_turn(self->rotation, &sink, &err) < 0)
		process_fail(self, &err);
	process_usage_begin(self, 0);
	process_set_path(self, self->next_path);
	close_old(self);
}

/* ---- saving and dumping ---------------------------------------------------------------------- */

/* Makes what was recorded so far be in the file. `ask`: who waits for it, ASK_COUNT for nobody. */
static void save(struct process *self, bool for_program, u32 ask)
{
	begin(self, DOING_SAVE, for_program);
	self->for_ask = ask;
	if (!is_recorded(self) || !self->writer) {
		self->dump.wanted = false;
		finish(self, ask == ASK_SAVE ? ENODATA : 0);
		return;
	}
	catch_up(self);
	process_tick(self);
}

static void dump_for_program(struct process *self, const struct hw_request *request, bool freed)
{
	struct dump *dump = &self->dump;

	memcpy(dump->to, request->path, sizeof(dump->to));
	dump->to[sizeof(dump->to) - 1] = 0;
	dump->wish = (struct dump_wish){.freed = freed};
	dump->wanted = true;
	save(self, true, ASK_COUNT);
}

static void dump_regularly(struct process *self, const struct berths_options *options)
{
	struct dump *dump = &self->dump;
	struct stream_totals totals;

	if (!options->dumper || !options->dumper->every || !is_recorded(self))
		return;
	correlator_totals(self->image->correlator, &totals);
	if (totals.frees < dump->regular_frees)
		dump->regular_frees = 0; /* another recording */
	if (!dump_is_due(dump, options->dumper, totals.frees, clock_now().ns))
		return;
	dump->regular_frees = totals.frees;
	dump->to[0] = 0;
	dump->wish = (struct dump_wish){.freed = true, .regular = true};
	dump->wanted = true;
	save(self, false, ASK_COUNT);
}

/* The file has what was to be saved. */
static void saved(struct process *self, const struct berths_options *options)
{
	struct dump *dump = &self->dump;
	int failure = self->writer ? trace_writer_failed(self->writer) : 0;

	if (!dump->wanted || failure) {
		dump->wanted = false;
		finish(self, failure);
		return;
	}
	dump->wanted = false;
	process_get_path(self, dump->trace);
	dump->wish.trace = dump->trace;
	dump->wish.to = dump->to;
	dump->wish.pid = self->pid;
	self->doing = DOING_DUMP;
	failure = options->dumper ? dump_begin(dump, options->dumper, clock_now().ns) : ENOTSUP;
	if (failure)
		finish(self, failure);
}

/* ---- requests of the program ----------------------------------------------------------------- */

static void restart(struct process *self, const struct hw_request *request)
{
	begin(self, DOING_OPEN, true);
	memcpy(self->next_path, request->path, sizeof(self->next_path));
	self->next_path[sizeof(self->next_path) - 1] = 0;
	self->next_errno = 0;
	turn_give(self, TURN_OPEN);
}

static void request_take(struct process *self)
{
	const struct hw_request *request = berth_request(&self->image->berth);
	/* Acquire: pairs with the recorder's release, the request is whole. */
	u32 number = load_acquire(&self->image->berth.control->request), verb;

	if (number == self->image->answered)
		return;
	self->image->answered = number - 1; /* whatever the program made of the counter */
	verb = load_relaxed(&request->verb);
	switch (verb) {
	case HW_REQUEST_SAVE: save(self, true, ASK_COUNT); break;
	case HW_REQUEST_DUMP:
	case HW_REQUEST_DUMP_FREED:
		dump_for_program(self, request, verb == HW_REQUEST_DUMP_FREED);
		break;
	case HW_REQUEST_SCAN:
		begin(self, DOING_SCAN, true);
		self->due.at_mark = true;
		break;
	case HW_REQUEST_STOP: recording_stop(self, true); break;
	case HW_REQUEST_RESTART: restart(self, request); break;
	default: begin(self, DOING_NOTHING, true); finish(self, EINVAL);
	}
}

void process_mark_scanned(struct process *self)
{
	self->due.at_mark = false;
	if (self->doing == DOING_SCAN)
		finish(self, 0);
}

static void autosave(struct process *self)
{
	u64 period = load_relaxed(&self->image->berth.control->autosave);
	struct stream_totals totals;

	if (!period || !is_recorded(self))
		return;
	correlator_totals(self->image->correlator, &totals);
	if (totals.allocations / period == self->image->saved_allocations / period)
		return;
	self->image->saved_allocations = totals.allocations;
	process_tick(self);
}

/* ---- what others ask ------------------------------------------------------------------------- */

static void image_set_paused(struct process *self, bool paused)
{
	struct hw_control *control = self->image->berth.control;

	if (load_relaxed(&control->paused) == (u32)paused)
		return;
	/* The marks enclose the time in which blocks may be born unseen. */
	if (paused && is_recorded(self))
		image_mark(self->image, HW_MARK_PAUSED);
	store_relaxed(&control->paused, paused);
	if (!paused && is_recorded(self))
		image_mark(self->image, HW_MARK_RESUMED);
}

void process_set_paused(struct process *self, bool paused)
{
	if (self->image)
		image_set_paused(self, paused);
	for (u64 i = self->image ? 1 : 0; i < self->claimed.count; i++) {
		store_relaxed(&self->claimed.data[i].control->paused, paused);
		store_relaxed(&self->claimed.data[i].control->began_paused, paused);
	}
}

static void snapshot_take(struct process *self, int failure)
{
	add_relaxed(&self->image->berth.control->snapshots, 1);
	image_mark(self->image, HW_MARK_SNAPSHOT);
	self->snapshot_ns = 0;
	self->due.at_mark = true; /* if the run scans marks */
	ask_finish(self, ASK_SNAPSHOT, failure);
}

/* A program with a callback takes the snapshot itself, at its next call of our API; if none comes,
 * it is taken without the callback. */
static void snapshot_serve(struct process *self)
{
	struct hw_control *control = self->image->berth.control;
	u32 wanted = load_relaxed(&control->snapshots_wanted), served;
	u64 now = clock_now().ns;

	if (!load_relaxed(&control->has_callback)) {
		snapshot_take(self, 0);
		return;
	}
	if (!self->snapshot_ns) {
		self->snapshot_ns = now;
		store_release(&control->snapshots_wanted, wanted + 1);
		return;
	}
	served = load_acquire(&control->snapshots_served);
	if (served == wanted) {
		self->snapshot_ns = 0;
		ask_finish(self, ASK_SNAPSHOT, 0);
	} else if (now - self->snapshot_ns > CALLBACK_NS &&
		   cas_acq_rel(&control->snapshots_served, &served, wanted)) {
		snapshot_take(self, ETIME);
	}
}

static void asks_refuse(struct process *self, int failure)
{
	for (u32 i = 0; i < ASK_COUNT; i++) {
		if (is_asked(self, i))
			ask_finish(self, i, failure);
	}
}

/* There is no image: not yet, or not any more. */
static void asks_defer(struct process *self)
{
	if (self->gone_seen) {
		asks_refuse(self, ESRCH);
		return;
	}
	for (u32 i = ASK_PAUSE; i <= ASK_RESUME; i++) {
		if (!is_asked(self, i))
			continue;
		process_set_paused(self, i == ASK_PAUSE);
		ask_finish(self, i, 0);
	}
	asks_refuse(self, EAGAIN);
}

/* A tool listens from now on: what the run has as a tap does so by way of the hub. */
static int join(struct process *self)
{
	if (!self->joins) {
		self->joins = join_hub_new(self->tap);
		if (!self->joins)
			return ENOMEM;
		self->tap = &self->joins->tap;
		self->image->tap = self->tap;
		self->tee.second = self->tap->sink;
	}
	return join_hub_add(self->joins, self->image, self->join_path);
}

static void asks_serve(struct process *self)
{
	if (is_asked(self, ASK_PAUSE)) {
		image_set_paused(self, true);
		ask_finish(self, ASK_PAUSE, is_recorded(self) ? 0 : ENODATA);
	}
	if (is_asked(self, ASK_RESUME)) {
		image_set_paused(self, false);
		ask_finish(self, ASK_RESUME, is_recorded(self) ? 0 : ENODATA);
	}
	if (is_asked(self, ASK_SNAPSHOT)) {
		if (is_recorded(self))
			snapshot_serve(self);
		else
			ask_finish(self, ASK_SNAPSHOT, ENODATA);
	}
	if (is_asked(self, ASK_JOIN))
		ask_finish(self, ASK_JOIN, is_recorded(self) ? join(self) : ENODATA);
	if (is_asked(self, ASK_STOP) && self->doing == DOING_NOTHING)
		recording_stop(self, false);
	if (is_asked(self, ASK_SAVE) && self->doing == DOING_NOTHING)
		save(self, false, ASK_SAVE);
}

/* ---- the cycle ------------------------------------------------------------------------------- */

static void go_on(struct process *self, const struct berths_options *options)
{
	/* Acquire: pairs with the waiting thread's release, what it did is there. */
	u32 turn = load_acquire(&self->turn);
	int failure;

	if (self->doing == DOING_SCAN && (!self->image || !self->due.at_mark))
		process_mark_scanned(self); /* the program has ended, or is another one now */
	else if (self->doing == DOING_SAVE && (!self->writer || trace_writer_settled(self->writer)))
		saved(self, options);
	else if (self->doing == DOING_DUMP && dump_is_done(&self->dump, clock_now().ns, &failure))
		finish(self, failure);
	else if (self->doing == DOING_OPEN && turn == TURN_OPENED)
		opened(self, options);
	else if (self->doing == DOING_TURN && turn == TURN_OPENED)
		turn_end(self);
	else if (self->doing == DOING_CLOSE && turn == TURN_CLOSED) {
		store_relaxed(&self->turn, TURN_NONE);
		finish(self, self->old_errno);
	}
}

static void show(struct process *self)
{
	struct process_shown *shown = &self->shown;
	const struct hw_control *control = self->image ? self->image->berth.control : NULL;
	struct stream_totals totals = {0};
	u32 state = SHOWN_WAITING;

	if (self->gone_seen && !self->claimed.count)
		state = SHOWN_ENDED;
	else if (self->writer_state == WRITER_STOPPED)
		state = SHOWN_STOPPED;
	else if (control)
		state = load_relaxed(&control->paused) ? SHOWN_PAUSED : SHOWN_RECORDING;
	if (is_recorded(self))
		correlator_totals(self->image->correlator, &totals);
	store_relaxed(&shown->events, process_events(self));
	store_relaxed(&shown->allocations, totals.allocations);
	store_relaxed(&shown->live_bytes, totals.kept_bytes);
	store_relaxed(&shown->live_chunks, totals.kept_chunks);
	store_relaxed(&shown->trace_bytes, process_trace_bytes(self));
	store_relaxed(&shown->snapshots, control ? load_relaxed(&control->snapshots) : 0);
	store_relaxed(&shown->state, state);
}

void process_recording_cycle(struct process *self, const struct berths_options *options)
{
	if (self->doing != DOING_NOTHING)
		go_on(self, options);
	if (self->doing == DOING_NOTHING && self->image) {
		request_take(self);
		autosave(self);
	}
	if (self->doing == DOING_NOTHING && self->image)
		dump_regularly(self, options);
	if (self->doing == DOING_NOTHING && self->rotation && is_recorded(self))
		turn_begin(self, clock_now().ns);
	if (self->image)
		asks_serve(self);
	else
		asks_defer(self);
	show(self);
}

bool process_is_settled(const struct process *self) { return self->doing == DOING_NOTHING; }
