/* SPDX-License-Identifier: MIT
 * heapwise scores: how well each allocation point uses the heap, in numbers, and what can be said
 * of it.
 * Host. */
#include <stdio.h>

#include "study/analysis/memoro/scores.h"
#include "show/cli/thresholds.h"
#include "show/cli/view.h"

struct scores_args {
	struct trace_args trace;
	const char *by;
	bool all;
	struct thresholds thresholds;
};

static const struct scores_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10},
					    .thresholds = THRESHOLDS_DEFAULT};

#define ARGS struct scores_args

static const struct option_spec options[] = {
	OPT(by, 'b', "by", CHOICE, "severity|bytes|count|lifetime|usage|useful",
	    "sort the points by this, worst or largest first (default severity)"),
	TOP_OPTION(struct trace_args, "points (default 10; 0 = all)"),
	DEPTH_OPTION(struct trace_args, "default: 8 in text, all in json and csv"),
	OPT(all, 'a', "all", SET, NULL, "also show inferences that do not hold or are unknown"),
	TRACE_OPTIONS,
	LIMITS_OPTION(struct trace_args),
	THRESHOLD_OPTIONS,
	OPTION_END};

static struct result *build(struct view *view, struct err *err)
{
	const struct scores_args *args = (const struct scores_args *)view->args;
	struct stack_source source = typed_stacks(view->study, view->format, args->trace.depth);
	struct scores_query query = {.top = args->trace.top,
				     .all_inferences = args->all,
				     .thresholds = args->thresholds,
				     .info = &view->study->info};

	if (args->by)
		scores_by_parse(args->by, &query.by);
	return analyse_scores(&source, &query, err);
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct view view = {.command = self, .args = fields, .build = build};

	return view_run(&view, argc, argv);
}

const struct command cmd_scores = {
	.name = "scores",
	.sums = true,
	.follows = true,
	.operands = "FILE",
	.summary = "score how well each allocation point uses its memory",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Scores are 0 (worst) to 1. lifetime: how long chunks live compared with chunks allocated\n"
		"around the same time; usage: what part of the bytes is used; useful: for what part of their\n"
		"life. The last two need recorded accesses and are otherwise unknown. Severity is 1 to 12, from\n"
		"the geometric mean of the known scores.",
	.options = options,
	.fields_size = sizeof(struct scores_args),
	.fields_default = &defaults,
	.run = run,
};
