/* SPDX-License-Identifier: MIT
 * heapwise owners: who holds the memory that was live.
 * Host. */
#include <inttypes.h>

#include "study/analysis/compare/compare.h"
#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/result.h"
#include "study/analysis/summary/summary.h"
#include "show/cli/view.h"

struct owners_args {
	struct trace_args trace;
	const char *path, *at;
	u64 min_share; /* in percent */
};

static const struct owners_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10, .graphs = true},
					    .min_share = 1};

enum { DEPTH_TEXT = 3 };

#define ARGS struct owners_args

static const struct option_spec options[] = {
	OPT(path, 0, "path", STRING, "CHUNK|ADDRESS|NAME",
	    "show the shortest path of pointers to a chunk: a number, an address such as 0x55d0, "
	    "or part of a type or function name"),
	OPT(at, 0, "at", STRING, "MOMENT",
	    "use the scan nearest to MOMENT: a time (1.5s, 200ms), start, peak, end, the name of a "
	    "mark, #NUMBER, or snapshotN (default: the scan with most live bytes)"),
	TOP_OPTION(struct trace_args,
		   "rows of each list, and parts of each owner (default 10; 0 = all)"),
	OPT(min_share, 0, "min-share", NUMBER, "PERCENT",
	    "show owners in the tree that hold at least PERCENT of the live bytes (default 1)"),
	DEPTH_OPTION(struct trace_args, "default: 3 in text, all in json and csv"),
	DEBUG_PATH_OPTION(struct trace_args),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	NO_INDEX_OPTION(struct trace_args),
	FORMAT_OPTION(struct trace_args),
	NO_PAGER_OPTION(struct trace_args),
	FOLDING_OPTIONS,
	OPTION_END};

/* That of --at, or the largest; NULL and err if there is none. */
static const struct stream_graph *graph_of(const struct view *view, struct err *err)
{
	const char *at = ((const struct owners_args *)view->args)->at;
	const struct model *model = view->study->model;
	struct owners_scans scans = {model, model->graphs.data, model->graphs.count};
	const char *failed = model_note(model, "owners_failed");
	struct compare_moment moment;

	if (scans.count && !at)
		return owners_largest(&scans);
	if (scans.count)
		return compare_moment_find(model, at, &moment, err) < 0
			       ? NULL
			       : owners_nearest(&scans, moment.ticks);
	if (*failed)
		err_set(err, ERR_INPUT, "%s: the pointers could not be recorded: %s",
			view->study->path, failed);
	else
		err_set(err, ERR_INPUT,
			"%s: no pointers were recorded; record with "
			"'heapwise run --owners PROGRAM'",
			view->study->path);
	return NULL;
}

static struct result *result_of(struct view *view, struct owners *owners, struct err *err)
{
	const struct owners_args *args = (const struct owners_args *)view->args;
	struct owners_show show = {.top = args->trace.top,
				   .min_share = (double)args->min_share / 100};
	struct result *result = args->path ? owners_path_result(owners, args->path, err)
					   : owners_result(owners, &show, err);

	if (!result)
		return NULL;
	if (view->study->model->graphs.count > 1 && !args->at)
		result_add_caveat(result,
				  "the trace has %" PRIu64 " scans; this is the one with most live "
				  "bytes, and --at chooses another",
				  view->study->model->graphs.count);
	add_caveats(result, view->study->model, &view->study->info);
	return result;
}

static struct result *build(struct view *view, struct err *err)
{
	const struct stream_graph *graph = graph_of(view, err);
	bool short_stacks = view->format == FORMAT_TEXT && view->args->depth == NOT_GIVEN;
	struct stack_source source = shown_stacks(view->study, view->format,
						  short_stacks ? DEPTH_TEXT : view->args->depth);
	struct type_query ask = {.source = &source,
				 .debug_path = view->args->debug_path,
				 .guess = true};
	struct type_cascade types = {0};
	struct owners_query query = {.graph = graph, .types = &types};
	struct owners owners = {0};
	struct result *result = NULL;

	if (!graph)
		return NULL;
	if (type_cascade_init(&types, &ask, err) == 0 && owners_make(&owners, &query, err) == 0)
		result = result_of(view, &owners, err);
	owners_release(&owners);
	type_cascade_release(&types);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct owners_args *args = fields;
	struct view view = {.command = self, .args = &args->trace, .build = build};

	if (args->min_share > 100)
		return command_usage(self, "--min-share must be at most 100");
	return view_run(&view, argc, argv);
}

const struct command cmd_owners = {
	.name = "owners",
	.operands = "FILE",
	.summary = "show who holds the live memory",
	.details =
		"FILE is a trace written by 'heapwise run --owners', or a folder written with --children.\n"
		"An owner holds a chunk if every path of pointers to the chunk goes through the owner. The bytes\n"
		"that it retains, its own and those of the chunks that it holds, would be freed with it.\n"
		"Owners are variables, stacks and other roots; types; and functions that allocated chunks\n"
		"whose type is unknown.",
	.options = options,
	.fields_size = sizeof(struct owners_args),
	.fields_default = &defaults,
	.run = run,
};
