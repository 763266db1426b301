/* SPDX-License-Identifier: MIT
 * When a program that runs is scanned for the sake of owners: at its marks, at new peaks, and
 * regularly. Runs on the drain thread. Scans that would stop the program for too much of its time,
 * or fill the disk, are left out and counted. */
#include "live/record/process.h"

#include <stdio.h>

#include "format/atomics.h"

/* The program stands still for at most this time, and this part of the time so far, and one scan
 * beyond that. */
static const u64 STOPPED_NS = 1000000000, STOPPED_PART = 20;
/* Marks that are always scanned: somebody has chosen them. */
static const u64 MARKS_FREE = 10;
/* What is kept of it all: up to 600 MB of trace, and 1.2 GB of memory for who reads it. */
static const u64 POINTERS_MAX = 100000000, SCANS_MAX = 1000;
/* Regular scans are apart by this part of the time so far, if that is longer than was asked for. */
static const u64 REGULAR_PART = 64;
static const u64 PEAK_PART = 10, PEAK_STEP = 4096;

static bool time_allows(const struct process *self, u64 now_ns)
{
	const struct owners_due *due = &self->due;

	return due->stopped_ns + due->last_ns <=
	       STOPPED_NS + (now_ns - due->from_ns) / STOPPED_PART;
}

/* The next one is due as if this one had been. */
static bool regular_is_due(struct process *self, const struct berths_options *options, u64 now_ns)
{
	struct owners_due *due = &self->due;
	u64 apart = (now_ns - due->from_ns) / REGULAR_PART;

	if (!(options->owners & OWNERS_REGULAR) || now_ns < due->next_ns)
		return false;
	due->next_ns =
		now_ns + (apart > options->owners_every_ns ? apart : options->owners_every_ns);
	return true;
}

/* A peak that is not scanned in time is not left out: a higher one may come. */
static bool peak_is_due(struct process *self, const struct berths_options *options)
{
	struct owners_due *due = &self->due;

	if (due->peak_recording != self->recordings) {
		due->peak_recording = self->recordings;
		due->peak_bytes = 0;
	}
	return options->owners & OWNERS_PEAK &&
	       process_live_bytes(self) > due->peak_bytes + due->peak_bytes / PEAK_PART + PEAK_STEP;
}

/* What the program does at its marks. */
static void marks_steer(const struct process *self, const struct berths_options *options, u32 what)
{
	if (options->owners & OWNERS_MARKS)
		store_relaxed(&self->image->berth.control->mark_scan, what);
}

static bool room_allows(const struct process *self)
{
	const struct owners_due *due = &self->due;

	return due->taken < SCANS_MAX && due->pointers + due->last_pointers <= POINTERS_MAX &&
	       !self->image->aggregating;
}

static bool is_due(struct process *self, const struct berths_options *options, u64 now_ns)
{
	struct owners_due *due = &self->due;
	bool regular = regular_is_due(self, options, now_ns);
	bool mark = due->at_mark && options->owners & OWNERS_MARKS;
	bool room = room_allows(self), time = room && time_allows(self, now_ns);
	bool mark_time = time || (room && due->marks < MARKS_FREE);

	marks_steer(self, options, mark_time ? HW_MARK_SCAN_ASK : HW_MARK_SCAN_PASS);
	due->left_out += (mark && !mark_time) + (regular && !time);
	if (!(mark && mark_time) && !(time && (regular || peak_is_due(self, options))))
		return false;
	due->marks += mark;
	if (process_live_bytes(self) > due->peak_bytes)
		due->peak_bytes = process_live_bytes(self);
	return true;
}

bool process_owners_due(struct process *self, const struct berths_options *options, bool possible)
{
	struct owners_due *due = &self->due;
	u64 now_ns = clock_now().ns;

	if (!due->from_ns) {
		due->from_ns = now_ns;
		due->next_ns = now_ns + options->owners_every_ns;
	}
	if (!possible)
		marks_steer(self, options, HW_MARK_SCAN_NONE);
	else if (is_due(self, options, now_ns))
		return true;
	process_mark_scanned(self);
	return false;
}

void process_owners_done(struct process *self, u64 stopped_ns, u64 pointers)
{
	struct owners_due *due = &self->due;

	due->taken++;
	due->stopped_ns += stopped_ns;
	due->last_ns = stopped_ns;
	due->pointers += pointers;
	due->last_pointers = pointers;
}

void process_owners_explain(struct process *self)
{
	u32 *passed = &self->image->berth.control->marks_passed;
	u64 left_out = self->due.left_out + exchange_acq_rel(passed, 0);
	char text[32];
	struct err err = {0};

	self->due.left_out = 0;
	self->due.all_left_out += left_out;
	if (!left_out)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)left_out);
	if (stream_tell(&self->sink, note, "owners_left_out", text, &err) < 0)
		process_fail(self, &err);
}
