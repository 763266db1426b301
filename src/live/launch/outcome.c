/* SPDX-License-Identifier: MIT
 * What became of a run: its result, and what its trace says beside the events; see run.h. Runs on
 * the thread that called monitor_run. Never prints. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "format/allocators.h"
#include "format/atomics.h"
#include "host/base/strbuf.h"
#include "host/base/text.h"
#include "live/launch/run.h"
#include "live/launch/run_state.h"

static void note_number(const struct stream_sink *sink, const char *key, u64 number)
{
	char value[32];

	if (!number)
		return;
	snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
	sink->note(sink->self, key, value, NULL);
}

/* Whether functions of an allocator were recorded, which need not have been called. */
static bool entries_recorded(const struct run_result *result)
{
	for (u32 i = 0; i < HW_ENTRIES; i++)
		if (result->entry_states[i] == HW_ENTRY_RECORDED)
			return true;
	return false;
}

/* Of programs that allocate at all: rings of many threads are resident, too. */
enum { OWN_PAGES_BYTES = 256 << 20, OWN_PAGES_ALONE = 24 << 20 };

/* Whether so much more was resident than malloc ever gave that somebody else must have got it. */
static bool maps_itself(const struct run *self)
{
	const struct stream_totals *totals = &self->root->totals;
	struct rusage usage;
	u64 resident;

	/* Recorded accesses take memory of their own. */
	if (self->options->record.pools_count || self->options->record.sample_bytes ||
	    self->options->record.paused || has_flag(self, HW_RUN_MMAP) ||
	    self->options->access > RUN_ACCESS_OFF || self->program.instrumented ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return false;
	resident = (u64)usage.ru_maxrss * 1024;
	return resident >= (totals->allocations ? OWN_PAGES_BYTES : OWN_PAGES_ALONE) &&
	       totals->peak_bytes < resident / 4;
}

static void hint_find(struct run *self)
{
	enum runtime runtime = self->root->runtime;

	if (runtime == RUNTIME_NONE && self->root->program[0])
		runtime = runtime_of_program(self->root->program);
	if (runtime == RUNTIME_NONE && !self->root->totals.allocations &&
	    !self->options->record.pools_count && !self->program.linked &&
	    !entries_recorded(self->result))
		runtime = runtime_of_unseen(self->root->program[0] ? self->root->program
								   : self->program.binary);
	if (runtime == RUNTIME_HIDDEN_MALLOC && self->options->record.pools_count)
		runtime = RUNTIME_NONE;
	if (runtime == RUNTIME_NONE && !has_flag(self, HW_RUN_LISP) && maps_itself(self))
		runtime = RUNTIME_OWN_PAGES;
	if (runtime == RUNTIME_BOEHM &&
	    (self->options->record.pools_count || has_flag(self, HW_RUN_LISP) ||
	     self->options->record.allocators >> HW_ALLOCATOR_BOEHM & 1))
		runtime = RUNTIME_NONE;
	snprintf(self->result->runtime_hint, sizeof(self->result->runtime_hint), "%s",
		 runtime_hint(runtime));
}

/* The functions that were named: "alloc malloc_like:1 recorded" … to a line; and those of known
 * allocators that were found. */
static void note_pools(struct run *self, const struct stream_sink *sink)
{
	static const char *const words[] = {
		[HW_POOL_UNSEEN] = "not found",
		[HW_POOL_NO_ROOM] = "not recorded: no room",
		[HW_POOL_UNFIT] = "not recorded: code cannot be moved",
		[HW_POOL_SHADOWED] = "not recorded: shadow stack",
		[HW_POOL_RECORDED] = "recorded",
	};
	static const char *const entry_words[] = {
		[HW_ENTRY_UNSEEN] = "not found",
		[HW_ENTRY_RECORDED] = "recorded",
		[HW_ENTRY_NO_ROOM] = "not recorded: no room",
		[HW_ENTRY_UNFIT] = "not recorded: code cannot be moved",
		[HW_ENTRY_SHADOWED] = "not recorded: shadow stack",
	};
	struct strbuf text = {0};

	for (u32 i = 0; i < self->options->record.pools_count; i++) {
		const struct hw_pool *pool = &self->options->record.pools[i];

		strbuf_addf(&text, "%s%s %s:", i ? "\n" : "", pool->frees ? "free" : "alloc",
			    pool->name);
		if (pool->size)
			strbuf_addf(&text, "=%" PRIu64, pool->size);
		else
			strbuf_addf(&text, "%u", pool->argument + 1u);
		strbuf_addf(&text, " %s", words[self->result->pool_states[i]]);
		if (self->result->pool_refused[i])
			strbuf_addf(&text, ", %" PRIu64 " blocks without their size",
				    self->result->pool_refused[i]);
	}
	for (u32 i = 0; i < HW_ENTRIES; i++)
		if (self->result->entry_states[i])
			strbuf_addf(&text, "%sentry %s %s", text.count ? "\n" : "",
				    hw_entries[i].name, entry_words[self->result->entry_states[i]]);
	if (text.count)
		sink->note(sink->self, "custom_allocators", strbuf_text(&text), NULL);
	strbuf_release(&text);
}

void run_tell_notes(struct run *self)
{
	struct run_result *result = self->result;
	struct stream_sink writer, *sink = &self->root->sink;

	if (!self->root->writer) /* the recording was ended before the program */
		return;
	writer = trace_writer_sink(self->root->writer);
	if (!sink->note) /* no image came */
		sink = &writer;
	note_number(sink, "unrecorded_children", result->unrecorded_children);
	note_number(sink, "unrecorded_execs", result->unrecorded_execs);
	note_number(sink, "berth_shortage", result->berth_shortage);
	note_number(sink, "unreachable", result->unreachable);
	note_number(sink, "unseen_ends", result->unseen_ends);
	note_number(sink, "unopened", result->unopened);
	if (result->runtime_hint[0])
		sink->note(sink->self, "runtime_hint", result->runtime_hint, NULL);
	if (result->lisp_says[0])
		sink->note(sink->self, "lisp", result->lisp_says, NULL);
	note_pools(self, sink);
}

static u64 file_bytes(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? (u64)status.st_size : 0;
}

static void add_up(struct run *self)
{
	struct run_result *result = self->result;

	for (const struct process *process = self->root; process; process = process->next) {
		const struct stream_totals *totals = &process->totals;
		bool failed = process->writer_state == WRITER_FAILED;

		/* After its last image another one came that had no recorder. */
		result->unseen_ends += process->ended_unseen && !failed;
		if (failed && !process->root) {
			result->unopened++;
			result->open_errno = process->write_errno;
		}
		result->starved += process->error.code == ERR_MEMORY;
		if (process->error.code && process->error.code != ERR_MEMORY &&
		    result->broken++ == 0)
			result->broken_error = process->error;
		result->processes += process->images > 0;
		result->owners_left_out += process->due.all_left_out;
		result->all_allocations += totals->allocations;
		result->all_frees += totals->frees;
		result->all_bytes += totals->bytes;
		result->all_kept_bytes += totals->kept_bytes;
		result->all_kept_chunks += totals->kept_chunks;
		if (totals->peak_bytes <= result->highest_peak_bytes)
			continue;
		result->highest_peak_bytes = totals->peak_bytes;
		result->highest_events = totals->allocations + totals->frees;
		snprintf(result->highest, sizeof(result->highest), "%s",
			 process->writer_state == WRITER_OPEN ? process->trace_path : "");
	}
}

void run_fill_result(struct run *self)
{
	const struct hw_lobby *lobby = self->berths.lobby;
	struct run_result *result = self->result;

	result->recorded = self->root->images > 0;
	result->images = self->root->images;
	result->plain_accesses = self->root->plain_accesses;
	result->routines = self->root->routines;
	result->routine_stacks = self->root->routine_stacks;
	memcpy(result->lisp_says, self->root->runtime_says, sizeof(result->lisp_says));
	text_clean(result->lisp_says);
	result->totals = self->root->totals;
	add_up(self);
	result->aggregated = load_relaxed(&self->drain.aggregating) != 0;
	result->unrecorded_children = load_relaxed(&lobby->unrecorded_children);
	result->unrecorded_execs = load_relaxed(&lobby->unrecorded_execs);
	result->berth_shortage = load_relaxed(&lobby->berth_shortage);
	result->unreachable = load_relaxed(&lobby->unreachable);
	result->unmapped = self->drain.unmapped;
	memcpy(result->unmapped_reason, self->drain.unmapped_error.text,
	       sizeof(result->unmapped_reason));
	memcpy(result->shortage_reason, self->drain.error.text, sizeof(result->shortage_reason));
	memcpy(result->pool_states, self->berths.pool_states, sizeof(result->pool_states));
	memcpy(result->pool_refused, self->berths.pool_refused, sizeof(result->pool_refused));
	memcpy(result->entry_states, self->berths.entry_states, sizeof(result->entry_states));
	hint_find(self);
}

static void output_add(struct run_result *result, const char *path)
{
	char *copy = strdup(path);

	result->trace_bytes += file_bytes(path);
	if (!copy || !vec_push(&result->traces, copy))
		free(copy);
}

/* The files of a process, in the order of their recordings. */
static void outputs_add(struct run *self, const struct process *process)
{
	for (u64 i = 0; i < process->ended.count; i++)
		output_add(self->result, process->ended.data[i]);
	if (process->writer_state == WRITER_OPEN)
		output_add(self->result, process->trace_path);
	if (process->root && !self->options->record.children && self->result->traces.count)
		snprintf(self->result->output, sizeof(self->result->output), "%s",
			 self->result->traces.data[self->result->traces.count - 1]);
}

void run_release_processes(struct run *self)
{
	struct process *process = self->root;

	while (process) {
		struct process *next = process->next;

		process_close_trace(process);
		outputs_add(self, process);
		if (process->write_errno && process->writer_state != WRITER_FAILED &&
		    !self->result->write_errno)
			self->result->write_errno = process->write_errno;
		process_free(process, &self->berths);
		process = next;
	}
	self->root = NULL;
}

void run_result_release(struct run_result *result)
{
	for (u64 i = 0; i < result->traces.count; i++)
		free(result->traces.data[i]);
	vec_release(&result->traces);
}
