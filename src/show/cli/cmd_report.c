/* SPDX-License-Identifier: MIT
 * heapwise report: what a program did with its heap, first in numbers, then by allocation point.
 * Host. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "study/analysis/report/report.h"
#include "study/analysis/report/session.h"
#include "study/analysis/findings/unnamed.h"
#include "show/cli/traces.h"
#include "show/cli/view.h"

struct report_args {
	struct trace_args trace;
	const char *by;
	u64 slack;
	bool merged;
};

static const struct report_args defaults = {.trace = {TRACE_DEFAULTS, .top = 5}};

#define ARGS struct report_args

static const struct option_spec options[] = {
	OPT(by, 'b', "by", CHOICE, "bytes|peak|kept|temporary|count",
	    "show only the top points by this measure"),
	TOP_OPTION(struct trace_args, "points of each list (default 5; 0 = all)"),
	DEPTH_OPTION(struct trace_args, "default: 8 in text, all in json and csv"),
	FOLDING_OPTIONS,
	OPT_LIMIT(
		slack, "temporary-slack", NUMBER, "N",
		"count a chunk as temporary if its thread made at most N other allocations during "
		"its life (default 0)"),
	OPT(merged, 0, "merged", SET, NULL,
	    "for a folder: show only the process tree, its totals and common points, not the "
	    "report of each process"),
	TRACE_OPTIONS,
	LIMITS_OPTION(struct trace_args),
	OPTION_END};

static struct result *build(struct view *view, struct err *err)
{
	const struct report_args *args = (const struct report_args *)view->args;
	struct stack_source source = typed_stacks(view->study, view->format, args->trace.depth);
	struct result *report;
	struct report_query query = {.info = &view->study->info,
				     .pointers = study_pointers(view->study),
				     .image = study_image(view->study),
				     .top = args->trace.top,
				     .temporary_slack = args->slack};

	query.one_list = args->by && points_by_parse(args->by, &query.by);
	report = analyse_report(&source, &query, err);
	if (report && args->trace.symbols)
		unnamed_add_caveat(&source, view->format == FORMAT_TEXT, report);
	return report;
}

/* Where a reader may go on; a path that would make the line too long is left to him. */
static void print_more(const struct study *trace)
{
	const char *file = strlen(trace->path) <= 28 ? trace->path : "FILE";

	if (model_is_collected(trace->model))
		printf("\nMore: heapwise mprof %s (Lisp types, call graph)\n", file);
	else
		printf("\nMore: heapwise mprof %s (leaks, sizes, call graph), heapwise leaks %s, "
		       "heapwise resident %s\n",
		       file, file, file);
}

/* One list alone is one clean CSV table; otherwise parts follow each other. */
static int print(struct view *view, struct result *report)
{
	const struct report_args *args = (const struct report_args *)view->args;

	print_begin();
	if (view->format == FORMAT_CSV && args->by)
		render_csv(report->parts.data[REPORT_POINTS], stdout);
	else
		print_result(report, view->format);
	if (view->format == FORMAT_TEXT)
		print_more(view->study);
	return EXIT_DONE;
}

/* ---- sessions ---- */

struct merging {
	const struct view *view;
	struct trace_args args; /* all traces by their last image */
	struct session_merge *merge;
	bool reports_follow; /* which tell what is wrong with a trace */
	bool shown;          /* the session was printed */
};

static int merge_one(struct merging *self, const char *path)
{
	const struct view *view = self->view;
	struct err err = {0};
	struct study *study = open_trace(view->command, &self->args, &view->wrappers, path, &err);
	int status = study ? 0 : err.code;

	if (status < 0 && status != ERR_USAGE && self->reports_follow)
		return EXIT_BAD_INPUT;
	if (study) {
		struct stack_source source = shown_stacks(study, view->format, self->args.depth);

		status = session_merge_add(self->merge, &source, &err);
	}
	close_trace(study);
	return status < 0 ? command_fail(view->command, &err) : EXIT_DONE;
}

/* The session as a whole; traces that cannot be read are told and left out. */
static int print_session(struct merging *self, const struct trace_list *traces)
{
	struct err err = {0};
	struct result *result;
	int worst = EXIT_DONE;

	for (u64 i = 0; i < traces->paths.count; i++) {
		int status = merge_one(self, traces->paths.data[i]);

		worst = status > worst ? status : worst;
	}
	result = session_merge_result(self->merge, self->args.top, &err);
	if (!result)
		return command_fail(self->view->command, &err);
	print_result(result, self->view->format);
	result_free(result);
	self->shown = true;
	return worst;
}

/* Whether it was printed goes to *shown, which is NULL if no reports follow. */
static int run_session(const struct view *view, const char *operand, bool *shown)
{
	const struct command *self = view->command;
	struct merging merging = {.view = view,
				  .args = *view->args,
				  .merge = session_merge_new(),
				  .reports_follow = shown != NULL};
	struct trace_list traces = {0};
	struct err err = {0};
	int status = EXIT_DONE;

	merging.args.image = NOT_GIVEN;
	if (!merging.merge)
		status = command_fail(self, (err_memory(&err), &err));
	else if (trace_list_find(&traces, operand, &err) < 0)
		status = command_fail(self, &err);
	else if (traces.is_folder || !shown)
		status = print_session(&merging, &traces);
	trace_list_release(&traces);
	session_merge_free(merging.merge);
	if (shown)
		*shown = merging.shown;
	return status;
}

static bool is_folder(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int show(struct view *self, int argc, char **argv)
{
	const struct report_args *args = (const struct report_args *)self->args;
	int status = EXIT_DONE, worst;

	if (argc == 1 && args->merged)
		return run_session(self, argv[0], NULL);
	/* People see the session first; programs ask for it, and have a list of reports
	 * otherwise. */
	if (argc == 1 && self->format == FORMAT_TEXT && is_folder(argv[0])) {
		bool shown;

		status = run_session(self, argv[0], &shown);
		if (status == EXIT_USAGE || !shown)
			return status;
		printf("\n");
	}
	worst = view_show(self, argc, argv);
	return worst > status ? worst : status;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct view view = {.command = self, .args = fields, .build = build, .print = print};
	int status = view_begin(&view);

	if (status != EXIT_DONE)
		return status;
	status = show(&view, argc, argv);
	view_end(&view);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.sums = true,
	.follows = true,
	.operands = "FILE",
	.summary = "show what a recorded program did with its heap",
	.details = "FILE is a trace written by 'heapwise run', or a folder written with "
		   "--children. For a folder\n"
		   "the process tree, its totals and common points come first, then the report of "
		   "each process.\n"
		   "\n"
		   "Measures of --by: bytes, total bytes requested; peak, live bytes at the "
		   "program's peak; kept,\n"
		   "bytes never freed; temporary, chunks freed before their thread's next "
		   "allocation; count,\n"
		   "number of allocations.",
	.options = options,
	.fields_size = sizeof(struct report_args),
	.fields_default = &defaults,
	.run = run,
};
