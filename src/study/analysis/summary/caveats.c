/* SPDX-License-Identifier: MIT
 * What a reader must know before trusting numbers: losses, damage, estimates, disagreement.
 * Host. Each caveat is one sentence that says what is missing and, where something helps, what. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/summary/summary.h"
#include "host/base/units.h"

static const char *const fault_texts[HW_FAULT_COUNT] = {
#define FAULT_TEXT(name, text) [HW_FAULT_##name] = text,
	HW_FAULTS(FAULT_TEXT)
#undef FAULT_TEXT
};

u64 summary_lost_events(const struct model *model)
{
	u64 told = model->has_end ? model->end.totals.lost_events : 0;

	return told > model->lost_events ? told : model->lost_events;
}

bool summary_complete(const struct model *model, const struct trace_info *info)
{
	return model->has_end && summary_lost_events(model) == 0 && !model->aggregated &&
	       (!info || info->damaged_blocks == 0);
}

static void about_part(struct result *result, const struct model *model)
{
	if (model->whole)
		result_add_caveat(
			result, "part of the trace: %s of %s allocations, %s of %s",
			units_count(model_count(model, model->totals.allocations)).text,
			units_count(model_count(model, model->whole->totals.allocations)).text,
			units_bytes(model->totals.bytes).text,
			units_bytes(model->whole->totals.bytes).text);
}

static void about_file(struct result *result, const struct model *model,
		       const struct trace_info *info)
{
	if (info && info->damaged_blocks)
		result_add_caveat(result, "%s damaged and skipped, so numbers are too low: %s",
				  info->damaged_blocks == 1 ? "one section of the file is"
							    : "several sections of the file are",
				  info->damage);
	if (!model->has_end)
		result_add_caveat(result,
				  "the recording is truncated before the program's end: numbers "
				  "cover the run up to the last section written");
	else if (info && !info->complete)
		result_add_caveat(result,
				  "the file was not closed properly; everything up to its last "
				  "complete section was read");
	if (model->strange_events)
		result_add_caveat(result, "%s",
				  units_things(model->strange_events, "event(s) (contradicts|"
								      "contradict) others and "
								      "(was|were) skipped")
					  .text);
	if (model->contexts.orphans)
		result_add_caveat(result, "%s",
				  units_things(model->contexts.orphans,
					       "stack(s) without outer frames")
					  .text);
}

/* Frees of blocks that are unknown because of what the user wanted are nothing to worry about. */
static void about_strangers(struct result *result, const struct model *model)
{
	bool continued = model->image.flags & HW_RUN_CONTINUED;
	const char *which = continued && model->pauses
				    ? "chunks allocated before this recording began or while it "
				      "was paused"
			    : continued     ? "chunks allocated before this recording began"
			    : model->pauses ? "chunks allocated while recording was paused"
					    : "blocks whose allocation was not recorded";

	if (model->unknown_frees)
		result_add_caveat(result, "%s of %s",
				  units_things(model->unknown_frees, "free(s)").text, which);
}

static void about_losses(struct result *result, const struct model *model)
{
	u64 lost = summary_lost_events(model);

	if (lost)
		result_add_caveat(result, "%s: counts are too low, and some chunks may seem kept",
				  units_things(lost, "event(s) (was|were) lost").text);
	for (u32 i = 0; i < HW_FAULT_COUNT && model->has_end; i++)
		if (model->end.totals.faults[i] && i != HW_FAULT_CHECKED)
			result_add_caveat(
				result, "%s",
				units_things(model->end.totals.faults[i], fault_texts[i]).text);
	about_strangers(result, model);
	if (model->implied_frees)
		result_add_caveat(
			result, "%s seen, but implied by reuse of the address",
			units_things(model->implied_frees, "free(s) (was|were) not").text);
}

/* Moments between pause and resume; a pause that never ends goes to the end of the recording. */
static u64 paused_ns(const struct model *model)
{
	u64 sum = 0, since = model->image.start_ticks;
	bool paused = false;

	for (u64 i = 0; i < model->marks.count; i++) {
		const struct model_mark *mark = &model->marks.data[i];

		if (mark->kind == HW_MARK_PAUSED && !paused) {
			paused = true;
			since = mark->ticks;
		} else if (mark->kind == HW_MARK_RESUMED && paused) {
			paused = false;
			sum += tick_clock_ns(&model->clock, mark->ticks) -
			       tick_clock_ns(&model->clock, since);
		}
	}
	if (paused)
		sum += tick_clock_ns(&model->clock, model->last_ticks) -
		       tick_clock_ns(&model->clock, since);
	return sum;
}

static void about_routine_stacks(struct result *result, const struct model *model)
{
	bool none = strcmp(model_note(model, "routine_stacks"), "none") == 0;

	result_add_caveat(result, none ? "no routine events recorded; stacks have one frame (the "
					 "program was not built with 'heapwise cc --routines', or "
					 "the filter matches no routine)"
				       : "stacks consist of instrumented routines: other callers "
					 "are missing, except the one that called a routine or the "
					 "allocator");
}

static void about_method(struct result *result, const struct model *model)
{
	if (*model_note(model, "access_plain"))
		result_add_caveat(result,
				  "no accesses of the program were recorded: it was not built "
				  "with 'heapwise cc'");
	if (model->pauses)
		result_add_caveat(result,
				  "recording was paused for %s; allocations made then are not "
				  "counted",
				  units_ns(paused_ns(model)).text);
	if (model->image.sample_bytes)
		result_add_caveat(result,
				  "sampled at one per %s allocated: all numbers are estimates",
				  units_bytes(model->image.sample_bytes).text);
	if (model->aggregated)
		result_add_caveat(
			result,
			"the trace reached its size limit after %s; later events are kept only as "
			"totals per stack: temporary chunks, peaks of points and shares of a later "
			"peak cover the run up to then",
			units_ns(tick_clock_ns(&model->clock,
					       model->end.totals.aggregated_from_ticks))
				.text);
	if (!(model->image.flags & HW_RUN_ALLOC_STACKS))
		result_add_caveat(result, "recorded without stacks: all allocations are one point");
	if (model->image.flags & HW_RUN_ROUTINE_STACKS)
		about_routine_stacks(result, model);
	if (!tick_clock_known(&model->clock))
		result_add_caveat(
			result,
			"the speed of the recorded clock is unknown: times are in its ticks");
}

static void compare(struct result *result, const char *what, u64 ours, u64 monitors)
{
	if (ours != monitors)
		result_add_caveat(result,
				  "%s: events add up to %" PRIu64 ", but %" PRIu64 " were counted "
				  "while recording",
				  what, ours, monitors);
}

/* The monitor counted while it recorded. A difference means that the file does not hold what was
 * recorded; where that is known already it needs no second sentence. */
static void about_totals(struct result *result, const struct model *model,
			 const struct trace_info *info)
{
	const struct stream_totals *told = &model->end.totals;
	bool exec = model->end.how == IMAGE_EXEC;

	if (!model->has_end || model->whole || (info && info->damaged_blocks))
		return;
	compare(result, "allocations", model->recorded_allocations, told->allocations);
	compare(result, "requested bytes", model->recorded_bytes, told->bytes);
	compare(result, "frees",
		model->recorded_frees +
			(model->aggregated ? told->unknown_frees : model->unknown_frees),
		told->frees);
	if (model->count_shift)
		return;
	if (!model->aggregated)
		compare(result, "bytes at the peak", model->totals.peak_bytes, told->peak_bytes);
	if (!exec)
		compare(result, "kept bytes", model->totals.live_bytes, told->kept_bytes);
}

/* What the monitor noted about processes that it did not record. */
static void about_notes(struct result *result, const struct model *model)
{
	static const struct {
		const char *key, *text;
	} known[] = {
		{"unrecorded_children", "child process(es) allocated but (was|were) not recorded; "
					"use --children"},
		{"unrecorded_execs", "program(s) started by child processes (was|were) not "
				     "recorded; use --children"},
		{"unreachable",
		 "process(es) could not reach the recording's shared memory and (was|were) not "
		 "recorded (chroot, namespaces, a sandbox without /proc, or little address space)"},
		{"unseen_ends",
		 "process(es) ended unseen: killed by a signal, replaced by a program without the "
		 "recorder (static, setuid, or started with another environment), or ended by a "
		 "bare system call"},
		{"unopened", "process(es) (was|were) not recorded: no trace could be opened"},
		{"berth_shortage", "program(s) (was|were) not recorded: too many started at once"},
	};

	for (u64 i = 0; i < model->notes.count; i++) {
		const struct model_note *note = &model->notes.data[i];

		for (u32 k = 0; k < sizeof known / sizeof *known; k++)
			if (strcmp(note->key, known[k].key) == 0 && strcmp(note->value, "0") != 0)
				result_add_caveat(result, "%s",
						  units_things(strtoull(note->value, NULL, 10),
							       known[k].text)
							  .text);
		if (strcmp(note->key, "runtime_hint") == 0 && *note->value)
			result_add_caveat(result, "%s", note->value);
	}
}

void add_caveats(struct result *result, const struct model *model, const struct trace_info *info)
{
	about_part(result, model);
	if (model->whole && model->aggregated)
		result_add_caveat(result, "events kept only as totals belong to no selection and "
					  "are left out");
	about_file(result, model, info);
	about_losses(result, model);
	about_method(result, model);
	about_totals(result, model, info);
	about_notes(result, model);
}
