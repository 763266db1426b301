/* SPDX-License-Identifier: MIT
 * heapwise report: what a program did with its heap, first in numbers, then by allocation point.
 * Host. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "study/analysis/report/report.h"
#include "study/analysis/report/session.h"
#include "study/analysis/findings/unnamed.h"
#include "show/cli/folding.h"
#include "show/cli/loaded.h"
#include "show/cli/trace_options.h"
#include "show/cli/traces.h"

struct report_args {
	const char *where;
	const char *by;
	const char *format, *limits;
	u64 top, image, depth, slack;
	bool symbols, no_index, merged, no_pager;
	struct folding folding;
};

static const struct report_args defaults = {.top = 5,
					    .image = NOT_GIVEN,
					    .depth = NOT_GIVEN,
					    .symbols = true};

static const struct option_spec options[] = {
	OPTION(struct report_args, by, 'b', "by", OPTION_CHOICE, "bytes|peak|kept|temporary|count",
	       "show only the top points by this measure"),
	TOP_OPTION(struct report_args, "points of each list (default 5; 0 = all)"),
	DEPTH_OPTION(struct report_args, "default: 8 in text, all in json and csv"),
	FOLDING_OPTIONS(struct report_args, folding),
	OPTION_LIMIT(struct report_args, slack, "temporary-slack", OPTION_NUMBER, "N",
	       "count a chunk as temporary if its thread made at most N other allocations during its life "
	       "(default 0)"),
	OPTION(struct report_args, merged, 0, "merged", OPTION_SET, NULL,
	       "for a folder: show only the process tree, its totals and common points, not the report of "
	       "each process"),
	TRACE_OPTIONS(struct report_args),
	LIMITS_OPTION(struct report_args),
	OPTION_END};

/* What one report needs while it is made. */
struct report {
	struct view view;
	const struct report_args *args;
};

static struct result *build(struct view *view, struct err *err)
{
	const struct report *self = (const struct report *)view;
	struct stack_source source;
	struct result *report;
	struct report_query query = {.info = &view->trace.info,
				     .image = loaded_image(&view->trace),
				     .top = self->args->top,
				     .temporary_slack = self->args->slack};

	loaded_add_types(&view->trace);
	source = loaded_stacks(&view->trace, view->format, self->args->depth);
	query.one_list = self->args->by && points_by_parse(self->args->by, &query.by);
	report = analyse_report(&source, &query, err);
	if (report && self->args->symbols)
		unnamed_add_caveat(&source, view->format == FORMAT_TEXT, report);
	return report;
}

/* Where a reader may go on; a path that would make the line too long is left to him. */
static void print_more(const struct loaded *trace)
{
	const char *file = strlen(trace->path) <= 28 ? trace->path : "FILE";

	if (model_is_collected(trace->model))
		printf("\nMore: heapwise mprof %s (Lisp types, call graph)\n", file);
	else
		printf("\nMore: heapwise mprof %s (leaks, sizes, call graph), heapwise leaks %s\n", file,
		       file);
}

/* One list alone is one clean CSV table; otherwise parts follow each other. */
static int print(struct view *view, struct result *report)
{
	const struct report *self = (const struct report *)view;

	print_begin();
	if (view->format == FORMAT_CSV && self->args->by)
		render_csv(report->parts.data[REPORT_POINTS], stdout);
	else
		print_result(report, view->format);
	if (view->format == FORMAT_TEXT)
		print_more(&view->trace);
	return EXIT_DONE;
}

/* ---- sessions ---- */

struct merging {
	const struct command *command;
	const struct report_args *args;
	const struct wrappers *wrappers;
	struct session_merge *merge;
	bool reports_follow; /* which tell what is wrong with a trace */
	bool shown;          /* the session was printed */
};

static int merge_one(void *data, const char *path)
{
	struct merging *self = data;
	struct loaded trace = {.command = self->command,
			       .path = path,
			       .wanted_image = NOT_GIVEN,
			       .find_symbols = self->args->symbols,
			       .no_index = self->args->no_index,
			       .where = self->args->where,
			       .no_fold = self->args->folding.none,
			       .wrappers = self->wrappers};
	enum format format = format_parse(self->args->format);
	struct err err = {0};
	int status = loaded_read(&trace, &err);

	if (status < 0 && status != ERR_USAGE && self->reports_follow) {
		loaded_release(&trace);
		return EXIT_BAD_INPUT;
	}
	if (status == 0) {
		struct stack_source source = loaded_stacks(&trace, format, self->args->depth);

		status = session_merge_add(self->merge, &source, &err);
	}
	loaded_release(&trace);
	return status < 0 ? command_fail(self->command, &err) : EXIT_DONE;
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
	result = session_merge_result(self->merge, self->args->top, &err);
	if (!result)
		return command_fail(self->command, &err);
	print_result(result, format_parse(self->args->format));
	result_free(result);
	self->shown = true;
	return worst;
}

/* Whether it was printed goes to *shown, which is NULL if no reports follow. */
static int run_session(const struct report *report, const char *operand, bool *shown)
{
	const struct command *self = report->view.command;
	const struct report_args *args = report->args;
	struct merging merging = {.command = self,
				  .args = args,
				  .wrappers = report->view.wrappers,
				  .merge = session_merge_new(),
				  .reports_follow = shown != NULL};
	struct trace_list traces = {0};
	struct err err = {0};
	int status = EXIT_DONE;

	if (!merging.merge)
		status = command_fail(self, (err_memory(&err), &err));
	else if (trace_list_find(&traces, operand, &err) < 0)
		status = command_fail(self, &err);
	else if (traces.is_folder || args->merged)
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

static int show(struct report *self, int argc, char **argv)
{
	int status = EXIT_DONE, worst;

	if (argc == 1 && self->args->merged)
		return run_session(self, argv[0], NULL);
	/* People see the session first; programs ask for it, and have a list of reports otherwise. */
	if (argc == 1 && self->view.format == FORMAT_TEXT && is_folder(argv[0])) {
		bool shown;

		status = run_session(self, argv[0], &shown);
		if (status == EXIT_USAGE || !shown)
			return status;
		printf("\n");
	}
	worst = view_run(&self->view, argc, argv);
	return worst > status ? worst : status;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct report_args *args = fields;
	struct wrappers wrappers = {0};
	struct report report = {.view = {.command = self,
					 .format = format_parse(args->format),
					 .image = args->image,
					 .find_symbols = args->symbols,
					 .no_index = args->no_index,
					 .where = args->where,
					 .no_fold = args->folding.none,
					 .wrappers = &wrappers,
					 .build = build,
					 .print = print},
				.args = args};
	struct err err = {0};
	int status = folding_read(&args->folding, &wrappers, &err);

	status = status < 0 ? command_usage(self, "%s", err.text) : show(&report, argc, argv);
	wrappers_release(&wrappers);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.operands = "FILE",
	.summary = "show what a recorded program did with its heap",
	.details = "FILE is a trace written by 'heapwise run', or a folder written with --children. For a "
		   "folder\n"
		   "the process tree, its totals and common points come first, then the report of each "
		   "process.\n"
		   "\n"
		   "Measures of --by: bytes, total bytes requested; peak, live bytes at the program's peak; "
		   "kept,\n"
		   "bytes never freed; temporary, chunks freed before their thread's next allocation; "
		   "count,\n"
		   "number of allocations.",
	.options = options,
	.fields_size = sizeof(struct report_args),
	.fields_default = &defaults,
	.run = run,
};
