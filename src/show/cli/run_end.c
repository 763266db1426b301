/* SPDX-License-Identifier: MIT
 * The end of `heapwise run`. Host. Prints on standard error only. */
#include "show/cli/run_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/units.h"
#include "format/session.h"
#include "live/record/process.h"
#include "show/cli/opening.h"
#include "study/analysis/owners/result.h"
#include "study/model/durations.h"

/* A trace of so many is read in some 5 s, with 1 GB of memory. */
enum { READ_EVENTS_MAX = 30000000 };

static void say_losses(const struct run_result *result)
{
	static const char *const texts[] = {
#define FAULT_TEXT(name, text) [HW_FAULT_##name] = text,
		HW_FAULTS(FAULT_TEXT)
#undef FAULT_TEXT
	};
	const struct stream_totals *totals = &result->totals;

	if (totals->lost_events)
		fprintf(stderr, "heapwise: WARNING: %s LOST; all numbers are too low\n",
			units_things(totals->lost_events, "event(s) (was|were)").text);
	for (u32 i = 0; i < HW_FAULT_COUNT; i++) {
		if (totals->faults[i] && i != HW_FAULT_CHECKED)
			fprintf(stderr, "heapwise: %s\n",
				units_things(totals->faults[i], texts[i]).text);
	}
	if (result->write_errno)
		fprintf(stderr, "heapwise: WARNING: the trace is INCOMPLETE: writing failed: %s\n",
			strerror(result->write_errno));
	if (result->unopened)
		fprintf(stderr,
			"heapwise: WARNING: %s not recorded: no trace could be opened: %s%s\n",
			units_things(result->unopened, "process(es) (was|were)").text,
			strerror(result->open_errno),
			result->open_errno == EMFILE ? "; raise ulimit -n" : "");
	if (result->berth_shortage)
		fprintf(stderr, "heapwise: WARNING: %s NOT recorded: %s\n",
			units_things(result->berth_shortage, "program image(s) (was|were)").text,
			result->shortage_reason[0]
				? result->shortage_reason
				: "the monitor could not keep up with new processes");
	if (result->unmapped)
		fprintf(stderr,
			"heapwise: WARNING: %s NOT recorded: %s; raise heapwise's own "
			"address space limit (ulimit -v)\n",
			units_things(result->unmapped, "program image(s) (was|were)").text,
			result->unmapped_reason);
	if (result->starved)
		fprintf(stderr,
			"heapwise: WARNING: the recording of %s is INCOMPLETE: out of memory; "
			"raise heapwise's own address space limit (ulimit -v)\n",
			units_things(result->starved, "process(es)").text);
	if (result->broken)
		fprintf(stderr, "heapwise: WARNING: the recording of %s is INCOMPLETE: %s%s\n",
			units_things(result->broken, "process(es)").text,
			result->broken_error.code == ERR_INPUT
				? "the recorder's memory in the program was damaged: "
				: "",
			result->broken_error.text);
}

/* Processes that went where the recorder cannot follow. */
static void say_unseen(const struct run_result *result)
{
	if (result->unreachable)
		fprintf(stderr,
			"heapwise: not recorded: %s that could not reach the recording's shared "
			"memory (chroot, namespaces, a sandbox without /proc, or too little "
			"address space)\n",
			units_things(result->unreachable, "process(es)").text);
	if (result->left_behind)
		fprintf(stderr, "heapwise: not recorded: processes that outlived the program and "
				"are still running; use --children\n");
	if (result->unseen_ends)
		fprintf(stderr,
			"heapwise: note: %s ended without notice: by a signal, by exec of a "
			"program without the recorder (static, setuid, or started with another "
			"environment), or by a raw exit system call\n",
			units_things(result->unseen_ends, "process(es)").text);
}

static void say_unrecorded(const struct run_result *result)
{
	u64 children = result->unrecorded_children, execs = result->unrecorded_execs;

	if (!children && !execs)
		return;
	fprintf(stderr, "heapwise: not recorded: ");
	if (children)
		fprintf(stderr, "%s", units_things(children, "child(|ren)").text);
	if (execs)
		fprintf(stderr, "%s%s", children ? " and " : "",
			units_things(execs, "exec'd image(s)").text);
	fprintf(stderr, "; use --children\n");
}

/* The program began new recordings: heapwise_restart. */
static void say_recordings(const struct run_result *result)
{
	fprintf(stderr,
		"heapwise: these totals are for the last of %s recordings; the others are in",
		units_count(result->traces.count).text);
	for (u64 i = 0; i + 1 < result->traces.count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", result->traces.data[i]);
	fprintf(stderr, "\n");
}

/* Accesses and routines cost what the program makes of them. */
static void say_cost(const struct run_args *args, const struct run_result *result)
{
	u64 events = result->all_allocations + result->all_frees;

	if (args->sample_bytes || args->lisp || args->routines || result->accesses)
		return;
	fprintf(stderr, "heapwise: recording cost about %s (estimated: %d ns per event)\n",
		units_ns(events * RECORDED_EVENT_NS).text, RECORDED_EVENT_NS);
}

/* ---- totals ---- */

/* Of the program's last image, or of all processes: what the first of them did is often to start
 * the others. */
struct run_sums {
	bool estimated;
	u64 recorded; /* allocations, from which the others are estimated */
	u64 allocations, bytes, kept_bytes, kept_chunks;
	u64 peak_bytes, peak_chunks; /* the highest */
};

static struct run_sums sums_counted(const struct run_args *args, const struct run_result *result)
{
	const struct stream_totals *totals = &result->totals;

	if (args->children)
		return (struct run_sums){.allocations = result->all_allocations,
					 .bytes = result->all_bytes,
					 .kept_bytes = result->all_kept_bytes,
					 .kept_chunks = result->all_kept_chunks,
					 .peak_bytes = result->highest_peak_bytes};
	return (struct run_sums){.allocations = totals->allocations,
				 .bytes = totals->bytes,
				 .kept_bytes = totals->kept_bytes,
				 .kept_chunks = totals->kept_chunks,
				 .peak_bytes = totals->peak_bytes,
				 .peak_chunks = totals->peak_chunks};
}

static void sums_add(struct run_sums *self, const struct model *model)
{
	const struct model_totals *totals = &model->totals;
	struct model_peak peak = model_peak(model);

	self->recorded += model->recorded_allocations;
	self->allocations += model_count(model, totals->allocations);
	self->bytes += totals->bytes;
	self->kept_bytes += totals->live_bytes;
	self->kept_chunks += model_count(model, totals->live_chunks);
	if (peak.bytes <= self->peak_bytes)
		return;
	self->peak_bytes = peak.bytes;
	self->peak_chunks = peak.chunks;
}

static bool sums_add_trace(struct run_sums *self, const char *path)
{
	const struct trace_read_options options = {.image = TRACE_LAST_IMAGE};
	struct model *model = model_new();
	struct err err = {0};
	bool ok = model && model_load(model, path, &options, NULL, &err) == 0;

	if (ok)
		sums_add(self, model);
	model_free(model);
	return ok;
}

/* Of a sample, as reports estimate them; false if traces would have to be read that are too large
 * for that. */
static bool sums_estimate(struct run_sums *self, const struct run_args *args,
			  const struct run_result *result, const struct study *begun)
{
	bool ok = result->all_allocations + result->all_frees <= READ_EVENTS_MAX;

	*self = (struct run_sums){.estimated = true};
	if (begun) {
		sums_add(self, begun->model);
		return true;
	}
	if (!args->children)
		return ok && sums_add_trace(self, result->output);
	for (u64 i = 0; ok && i < result->traces.count; i++)
		ok = sums_add_trace(self, result->traces.data[i]);
	return ok;
}

static void say_sums(const struct run_args *args, const struct run_result *result,
		     const struct run_sums *sums)
{
	struct things_text allocations = units_things(sums->allocations, "allocation(s)");

	if (sums->estimated)
		fprintf(stderr, "heapwise: about %s (estimated from a sample of %s), ",
			allocations.text, units_count(sums->recorded).text);
	else
		fprintf(stderr, "heapwise: %s, ", allocations.text);
	fprintf(stderr, "%s in %s", units_bytes(sums->bytes).text,
		units_ns(result->duration_ns).text);
	if (args->children)
		fprintf(stderr, " by %s; highest peak %s",
			units_things(result->processes, "process(es)").text,
			units_bytes(sums->peak_bytes).text);
	else
		fprintf(stderr, "; peak %s in %s", units_bytes(sums->peak_bytes).text,
			units_things(sums->peak_chunks, "chunk(s)").text);
	fprintf(stderr, "; %s %s in %s\n", args->lisp ? "not collected" : "kept",
		units_bytes(sums->kept_bytes).text,
		units_things(sums->kept_chunks, "chunk(s)").text);
}

/* With the names and sums that it has got since. */
static u64 bytes_of(const struct run_result *result)
{
	struct stat file;

	return result->traces.count <= 1 && stat(result->output, &file) == 0 &&
			       S_ISREG(file.st_mode)
		       ? (u64)file.st_size
		       : result->trace_bytes;
}

static void say_totals(const struct run_args *args, const struct run_result *result,
		       const struct study *begun)
{
	u64 trace_bytes = bytes_of(result);
	u64 events = result->all_allocations + result->all_frees;
	struct run_sums sums = sums_counted(args, result);

	if (args->sample_bytes && !sums_estimate(&sums, args, result, begun))
		fprintf(stderr,
			"heapwise: a sample of %s was recorded; 'heapwise report %s' "
			"estimates the totals\n",
			units_things(result->all_allocations, "allocation(s)").text,
			result->output);
	else if (sums.estimated && !sums.recorded)
		fprintf(stderr, "heapwise: no allocation was sampled; record with a smaller "
				"--sample\n");
	else
		say_sums(args, result, &sums);
	if (result->images > 1 && !args->children)
		fprintf(stderr,
			"heapwise: these totals are for the last of the program's %s images (one "
			"per exec)\n",
			units_count(result->images).text);
	if (result->traces.count > 1 && !args->children)
		say_recordings(result);
	fprintf(stderr, "heapwise: trace %s, %s", result->output, units_bytes(trace_bytes).text);
	if (events && result->images == 1 && result->traces.count == 1 && !args->children)
		fprintf(stderr, ", %.1f bytes per event", (double)trace_bytes / (double)events);
	fprintf(stderr, "\n");
	say_cost(args, result);
}

bool run_is_empty(const struct run_args *args, const struct run_result *result)
{
	if (!result->recorded)
		return true;
	/* A program that only starts others may not allocate itself. */
	return result->images == 1 && !result->all_allocations && !result->all_frees &&
	       !result->totals.lost_events && !result->routines && !args->sample_bytes &&
	       !args->mmap && !args->start_paused;
}

bool run_may_follow(const struct run_args *args)
{
	return !args->quiet && !args->lisp && !args->children && !args->owners && !args->summary;
}

/* The first findings; of several processes those of the one with the highest peak. Reading a trace
 * that is too large for that is left to the user: true, there may be some. */
static bool say_findings(const struct run_args *args, const struct run_result *result,
			 struct study *begun)
{
	bool many = args->children && result->processes > 1;
	u64 events =
		many ? result->highest_events : result->totals.allocations + result->totals.frees;

	if (args->lisp || args->report || run_is_empty(args, result) || result->write_errno ||
	    (many && !result->highest[0])) {
		close_trace(begun);
		return false;
	}
	if (!begun && events > READ_EVENTS_MAX) {
		fprintf(stderr, "heapwise: no findings yet: to read %s takes a while\n",
			units_things(events, "event(s)").text);
		return true;
	}
	return brief_findings(&cmd_run, args->children ? result->highest : result->output,
			      &(struct brief){.one_of_many = many,
					      .begun = begun,
					      .may_read =
						      !args->summary && events <= READ_EVENTS_MAX});
}

/* What to look at first, and where to go on. */
static void say_next(const struct run_args *args, const struct run_result *result,
		     struct study *begun)
{
	bool found = say_findings(args, result, begun);
	struct strbuf trace = {0};

	if (run_is_empty(args, result) || args->report || result->write_errno)
		return;
	process_quote(&trace, result->output);
	if (args->lisp)
		fprintf(stderr, "heapwise: next: heapwise mprof %s\n", strbuf_text(&trace));
	else
		fprintf(stderr, "heapwise: next: heapwise %s %s, heapwise serve --open %s\n",
			found ? "findings" : "report", strbuf_text(&trace), strbuf_text(&trace));
	strbuf_release(&trace);
}

/* Without it nothing of Lisp is in the trace. */
static void say_lisp(const struct run_args *args, const struct run_result *result)
{
	if (!args->lisp || !result->output[0])
		return;
	if (strncmp(result->lisp_says, "refused: ", 9) == 0)
		fprintf(stderr, "heapwise: WARNING: no Lisp was recorded: %s\n",
			result->lisp_says + 9);
	else if (!result->lisp_says[0])
		fprintf(stderr, "heapwise: WARNING: no Lisp was recorded: the program never "
				"started ECL (cl_boot) from a shared libecl; programs with ECL "
				"linked in statically cannot be recorded with --lisp\n");
}

void run_end_say(const struct run_plan *plan, const struct run_result *result,
		 struct loading *loading)
{
	const struct run_args *args = plan->args;
	struct study *begun = NULL;

	/* it followed the first of several recordings */
	if (args->summary && !args->quiet && result->recorded && !result->write_errno)
		begun = brief_open(&cmd_run, result->output, NULL);
	else if (result->traces.count <= 1 && strcmp(loading_path(loading), result->output) == 0 &&
		 !result->write_errno && loading_finish(loading, READ_EVENTS_MAX))
		begun = brief_open(&cmd_run, result->output, loading);
	say_losses(result);
	run_pools_say(&plan->pools, result);
	say_lisp(args, result);
	if (args->quiet)
		return;
	if (!result->output[0]) {
		fprintf(stderr, "heapwise: the program was not recorded%s\n",
			args->listen ? ", and nothing was served" : "");
		return;
	}
	if (run_is_empty(args, result))
		fprintf(stderr, "heapwise: nothing was recorded%s\n",
			result->runtime_hint[0] || result->unmapped || result->unreachable ||
					result->starved
				? ""
			: result->recorded ? ": the program never allocated"
					   : ": the program never allocated, or the recorder "
					     "could not be loaded");
	else
		say_totals(args, result, begun);
	if (result->plain_accesses)
		fprintf(stderr,
			"heapwise: WARNING: no accesses of the program were recorded: it was not "
			"built with 'heapwise cc'; --access valgrind records those of any "
			"program\n");
	if (args->routines && result->recorded && !result->routines)
		fprintf(stderr, "heapwise: no routine was recorded: %s\n",
			args->access && strcmp(args->access, "valgrind") == 0
				? "no routine matches the filter"
				: "the program was not built with 'heapwise cc --routines', or no "
				  "routine matches the filter; --access valgrind records the "
				  "routines of any program");
	if (args->stacks && strcmp(args->stacks, "routines") == 0 && result->recorded &&
	    !result->routine_stacks)
		fprintf(stderr, "heapwise: no routine events recorded; stacks have one frame: the "
				"program was not built with 'heapwise cc --routines', or no "
				"routine matches the filter; without --stacks routines its frames "
				"are unwound\n");
	if (result->aggregated)
		fprintf(stderr,
			"heapwise: size limit reached; later events are kept only as totals per "
			"allocation point\n");
	if (result->owners_left_out)
		fprintf(stderr, "heapwise: %s\n",
			units_things(result->owners_left_out, OWNERS_LEFT_OUT).text);
	say_unrecorded(result);
	say_unseen(result);
	if (result->control_problem[0])
		fprintf(stderr, "heapwise: note: 'heapwise ctl' was not available: %s\n",
			result->control_problem);
	run_allocators_say(result);
	if (result->runtime_hint[0])
		fprintf(stderr, "heapwise: note: %s\n", result->runtime_hint);
	say_next(args, result, begun);
}
