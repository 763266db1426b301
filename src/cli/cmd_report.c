/* SPDX-License-Identifier: MIT
 * heapwise report: what a program did with its heap, first in numbers, then by allocation point.
 * Host. */
#include <stdio.h>
#include <string.h>

#include "analysis/findings.h"
#include "analysis/marks.h"
#include "analysis/points.h"
#include "analysis/summary.h"
#include "cli/loaded.h"

struct report_args {
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

enum { PART_FINDINGS, PART_POINTS }; /* the first parts of a report */

/* What one report needs while it is made. */
struct report {
	struct view view;
	const struct report_args *args;
};

static struct stack_source stacks(const struct report *self)
{
	return loaded_stacks(&self->view.trace, self->view.format, self->args->depth);
}

static struct result *points(const struct report *self, enum points_by by, struct err *err)
{
	struct stack_source source = stacks(self);
	struct points_query query = {.by = by,
				     .top = self->args->top,
				     .temporary_slack = self->args->slack};

	return analyse_points(&source, &query, err);
}

/* What 'heapwise leaks' would find, in a line each, and what 'heapwise findings' would begin with. */
static int add_findings(const struct report *self, struct result *report, struct err *err)
{
	struct stack_source source = stacks(self);
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE};
	struct findings_show show = {.top = self->args->top};
	struct growth_query growth = growth_defaults();
	struct suppressions suppressions = {0};
	struct leak_report leaks = {0};
	struct findings findings = {0};
	int status = suppressions_add_builtin(&suppressions, err);

	if (status == 0)
		status = leak_report_make(&leaks, &source, &self->view.trace.info, &growth,
					  &suppressions, err);
	if (status == 0)
		status = findings_find(&findings, &source, &leaks, &query, err);
	if (status == 0) {
		leak_report_mention(&leaks, self->view.trace.model, report);
		result_add_part(report, findings_result(&findings, &source, &show, err));
	}
	findings_release(&findings);
	leak_report_release(&leaks);
	suppressions_release(&suppressions);
	return status;
}

static struct result *snapshots(const struct report *self, struct err *err)
{
	struct stack_source source = stacks(self);

	return analyse_snapshots(&source, self->args->top, err);
}

/* The whole report as one result; NULL and err on failure. */
static struct result *build(struct view *view, struct err *err)
{
	const struct report *self = (const struct report *)view;
	struct summary_query query = {.info = &view->trace.info,
				      .image = loaded_image(&view->trace),
				      .temporary_slack = self->args->slack};
	struct result *report = analyse_summary(view->trace.model, &query, err);
	enum points_by by = POINTS_BY_BYTES;
	u32 first = 0, end = POINTS_MEASURES;

	if (!report)
		return NULL;
	loaded_add_types(&view->trace);
	if (add_findings(self, report, err) < 0) {
		result_free(report);
		return NULL;
	}
	if (self->args->by && points_by_parse(self->args->by, &by)) {
		first = by;
		end = first + 1;
	}
	for (u32 i = first; i < end; i++)
		result_add_part(report, points(self, (enum points_by)i, err));
	result_add_part(report, analyse_sizes(view->trace.model, err));
	result_add_part(report, analyse_marks(view->trace.model, err));
	result_add_part(report, snapshots(self, err));
	if (!result_failed(report))
		return report;
	if (!err->code)
		err_set(err, ERR_MEMORY, "out of memory");
	result_free(report);
	return NULL;
}

/* Where a reader may go on; a path that would make the line too long is left to him. */
static void print_more(const char *path)
{
	const char *file = strlen(path) <= 28 ? path : "FILE";

	printf("\nMore: heapwise mprof %s (leaks, sizes, call graph), heapwise leaks %s\n", file,
	       file);
}

/* One list alone is one clean CSV table; otherwise parts follow each other. */
static int print(struct view *view, struct result *report)
{
	const struct report *self = (const struct report *)view;

	if (view->format == FORMAT_CSV && self->args->by)
		render_csv(report->parts.data[PART_POINTS], stdout);
	else
		print_result(report, view->format);
	if (view->format == FORMAT_TEXT)
		print_more(view->trace.path);
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
