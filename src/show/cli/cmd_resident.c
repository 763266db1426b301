/* SPDX-License-Identifier: MIT
 * heapwise resident: every resident byte charged to a line of code.
 * Host. */
#include <string.h>

#include "show/cli/view.h"
#include "study/analysis/compare/compare.h"
#include "study/analysis/resident/bill_result.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/looks.h"
#include "study/analysis/resident/series.h"
#include "study/analysis/summary/summary.h"

struct resident_args {
	struct trace_args trace;
	const char *at;
};

static const struct resident_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10}};

enum { DEPTH_TEXT = 3 };

#define ARGS struct resident_args

static const struct option_spec options[] = {
	OPT(at, 0, "at", STRING, "MOMENT",
	    "use the look nearest to MOMENT, a time (1.5s, 200ms), start, peak, end, or the name "
	    "of a mark (default: the look with most resident memory)"),
	TOP_OPTION(struct trace_args, "points (default 10; 0 = all)"),
	DEPTH_OPTION(struct trace_args, "default: 3 in text, all in json and csv"),
	DEBUG_PATH_OPTION(struct trace_args),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	NO_INDEX_OPTION(struct trace_args),
	FORMAT_OPTION(struct trace_args),
	NO_PAGER_OPTION(struct trace_args),
	FOLDING_OPTIONS,
	OPTION_END};

/* The look of the moment that is asked for; NULL and err if there is none. */
static const struct model_memory *look_at(const struct study *study, const char *at,
					  struct err *err)
{
	const struct model_memory *most = resident_most(study->model, 0, UINT64_MAX);
	struct compare_moment moment;

	if (!most)
		bill_missing(study->path, err);
	if (!most || !at)
		return most;
	return compare_moment_find(study->model, at, &moment, err) < 0
		       ? NULL
		       : resident_nearest(study->model, moment.ticks);
}

/* The parts when most was resident, while it stayed far above what was live, and at the end. */
static struct result *moments(const struct model *model, struct err *err)
{
	struct resident_series series = {0};
	struct result *table = NULL;

	if (resident_series_make(&series, model, err) == 0)
		table = analyse_resident(model, &series, err);
	resident_series_release(&series);
	return table;
}

static struct result *build(struct view *view, struct err *err)
{
	const struct resident_args *args = (const struct resident_args *)view->args;
	const struct model_memory *memory = look_at(view->study, args->at, err);
	bool short_stacks = view->format == FORMAT_TEXT && args->trace.depth == NOT_GIVEN;
	struct stack_source source = shown_stacks(view->study, view->format,
						  short_stacks ? DEPTH_TEXT : args->trace.depth);
	struct bill bill = {0};
	struct result *result = NULL;

	if (memory && bill_make(&bill, view->study->model, memory, err) == 0)
		result = bill_result(&bill, &source, args->trace.top, err);
	if (result && view->format != FORMAT_TEXT) {
		result_add_part(result, resident_by_size_result(view->study->model, memory, err));
		result_add_part(result, moments(view->study->model, err));
		result_add_part(result, resident_looks_result(view->study->model, err));
	}
	if (result)
		add_caveats(result, view->study->model, &view->study->info);
	bill_release(&bill);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct view view = {.command = self, .args = fields, .build = build};

	return view_run(&view, argc, argv);
}

const struct command cmd_resident = {
	.name = "resident",
	.operands = "FILE",
	.summary = "show who keeps memory resident",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Charges the resident memory of one moment to allocation points. pinned: free bytes\n"
		"of pages that the point's live blocks hold. left behind: free bytes of such pages that\n"
		"the point's freed blocks used last. cached: bytes of pages without live blocks that\n"
		"the point's freed blocks used last. thread caches: bytes of the point's freed blocks\n"
		"that glibc keeps for single threads.",
	.options = options,
	.fields_size = sizeof(struct resident_args),
	.fields_default = &defaults,
	.run = run,
};
