/* SPDX-License-Identifier: MIT
 * heapwise report: what a program did with its heap, first in numbers, then by allocation point.
 * Host. */
#include <stdio.h>
#include <string.h>

#include "analysis/report.h"
#include "cli/loaded.h"
#include "cli/where.h"

struct report_args {
	const char *where;
	const char *by;
	const char *format;
	u64 top, image, depth, slack;
	bool symbols, no_index;
};

static const struct report_args defaults = {.top = 5,
					    .image = NOT_GIVEN,
					    .depth = NOT_GIVEN,
					    .symbols = true};

static const struct option_spec options[] = {
	OPTION(struct report_args, by, 'b', "by", OPTION_CHOICE, "bytes|peak|kept|temporary|count",
	       "show only the points that lead by this measure"),
	OPTION(struct report_args, top, 'n', "top", OPTION_NUMBER, "N",
	       "show the first N points of each list (5; 0 = all)"),
	OPTION(struct report_args, depth, 'd', "depth", OPTION_NUMBER, "N",
	       "show N frames of each stack (text: 8, json and csv: all; 0 = all)"),
	WHERE_OPTION(struct report_args, where),
	OPTION(struct report_args, image, 0, "image", OPTION_NUMBER, "N",
	       "report the program's image N, counted from 0; each exec begins one (the last)"),
	OPTION(struct report_args, slack, 0, "temporary-slack", OPTION_NUMBER, "N",
	       "a chunk is temporary if its thread made at most N other allocations while it lived "
	       "(0)"),
	OPTION(struct report_args, symbols, 0, "no-symbols", OPTION_CLEAR, NULL,
	       "do not look for function names that the trace does not have"),
	OPTION(struct report_args, no_index, 0, "no-index", OPTION_SET, NULL,
	       "read the trace, also if it has an index"),
	OPTION(struct report_args, format, 'f', "format", OPTION_CHOICE, FORMAT_CHOICES,
	       "how to print the report (text)"),
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
	struct report_query query = {.info = &view->trace.info,
				     .image = loaded_image(&view->trace),
				     .top = self->args->top,
				     .temporary_slack = self->args->slack};

	loaded_add_types(&view->trace);
	source = loaded_stacks(&view->trace, view->format, self->args->depth);
	query.one_list = self->args->by && points_by_parse(self->args->by, &query.by);
	return analyse_report(&source, &query, err);
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

	if (view->format == FORMAT_CSV && self->args->by)
		render_csv(report->parts.data[REPORT_POINTS], stdout);
	else
		print_result(report, view->format);
	if (view->format == FORMAT_TEXT)
		print_more(&view->trace);
	return EXIT_DONE;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct report_args *args = fields;
	struct report report = {.view = {.command = self,
					 .format = format_parse(args->format),
					 .image = args->image,
					 .find_symbols = args->symbols,
					 .no_index = args->no_index,
					 .where = args->where,
					 .build = build,
					 .print = print},
				.args = args};

	return view_run(&report.view, argc, argv);
}

const struct command cmd_report = {
	.name = "report",
	.operands = "FILE",
	.summary = "tell what a recorded program did with its heap",
	.details = "FILE is a trace that 'heapwise run' wrote, or the folder of a session with "
		   "--children,\n"
		   "whose traces are reported one after the other. Measures of --by: bytes "
		   "requested in all;\n"
		   "peak, live bytes at the moment of the program's peak; kept, bytes never freed; "
		   "temporary,\n"
		   "chunks freed before the next allocation of their thread; count, number of "
		   "allocations.",
	.options = options,
	.fields_size = sizeof(struct report_args),
	.fields_default = &defaults,
	.run = run,
};
