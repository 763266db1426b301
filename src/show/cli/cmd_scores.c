/* SPDX-License-Identifier: MIT
 * heapwise scores: how well each allocation point uses the heap, in numbers, and what can be said of it.
 * Host. */
#include <stdio.h>

#include "study/analysis/memoro/scores.h"
#include "show/cli/loaded.h"
#include "show/cli/thresholds.h"
#include "show/cli/trace_options.h"

struct scores_args {
	const char *where;
	const char *by, *format, *limits;
	u64 top, image, depth;
	bool symbols, all, no_index, no_pager;
	struct thresholds thresholds;
};

static const struct scores_args defaults = {.top = 10,
					    .image = NOT_GIVEN,
					    .depth = NOT_GIVEN,
					    .symbols = true,
					    .thresholds = THRESHOLDS_DEFAULT};

static const struct option_spec options[] = {
	OPTION(struct scores_args, by, 'b', "by", OPTION_CHOICE,
	       "severity|bytes|count|lifetime|usage|useful",
	       "sort the points by this, worst or largest first (default severity)"),
	TOP_OPTION(struct scores_args, "points (default 10; 0 = all)"),
	DEPTH_OPTION(struct scores_args, "default: 8 in text, all in json and csv"),
	OPTION(struct scores_args, all, 'a', "all", OPTION_SET, NULL,
	       "also show inferences that do not hold or are unknown"),
	TRACE_OPTIONS(struct scores_args),
	LIMITS_OPTION(struct scores_args),
	THRESHOLD_OPTIONS(struct scores_args, thresholds),
	OPTION_END};

struct scores {
	struct view view;
	const struct scores_args *args;
	enum scores_by by;
};

static struct result *build(struct view *view, struct err *err)
{
	const struct scores *self = (const struct scores *)view;
	struct stack_source source;
	struct scores_query query = {.by = self->by,
				     .top = self->args->top,
				     .all_inferences = self->args->all,
				     .thresholds = self->args->thresholds,
				     .info = &view->trace.info};

	loaded_add_types(&view->trace);
	source = loaded_stacks(&view->trace, view->format, self->args->depth);
	return analyse_scores(&source, &query, err);
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct scores_args *args = fields;
	struct scores scores = {.view = {.command = self,
					 .format = format_parse(args->format),
					 .image = args->image,
					 .find_symbols = args->symbols,
					 .no_index = args->no_index,
					 .where = args->where,
					 .build = build},
				.args = args};

	if (args->by)
		scores_by_parse(args->by, &scores.by);
	return view_run(&scores.view, argc, argv);
}

const struct command cmd_scores = {
	.name = "scores",
	.operands = "FILE",
	.summary = "score how well each allocation point uses its memory",
	.details = "FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		   "Scores are 0 (worst) to 1. lifetime: how long chunks live compared with chunks allocated\n"
		   "around the same time; usage: what part of the bytes is used; useful: for what part of their\n"
		   "life. The last two need recorded accesses and are otherwise unknown. Severity is 1 to 12, from\n"
		   "the geometric mean of the known scores.",
	.options = options,
	.fields_size = sizeof(struct scores_args),
	.fields_default = &defaults,
	.run = run,
};
