/* SPDX-License-Identifier: MIT
 * heapwise diff: two traces, or two moments of one, side by side.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "study/analysis/compare/compare.h"
#include "show/cli/opening.h"

struct diff_args {
	struct trace_args trace;
	const char *by, *metric, *align;
	struct option_strings at;
	u64 points;
	double tolerance;
	bool same, fold_recursion, chart;
};

enum { POINTS_DEFAULT = 200, POINTS_MAX = 4096, TOP_DEFAULT = 20 };

static const struct diff_args defaults = {.trace = {TRACE_DEFAULTS, .top = TOP_DEFAULT},
					  .points = POINTS_DEFAULT,
					  .chart = true};

#define ARGS struct diff_args

static const struct option_spec options[] = {
	OPT(at, 0, "at", STRINGS, "MOMENT",
	    "compare two moments of one trace; give it twice. MOMENT is a time (1.5s, 200ms), "
	    "start, peak, end, the name of a mark, #NUMBER, or snapshotN"),
	OPT(by, 'b', "by", CHOICE, COMPARE_BY_CHOICES, "what to compare (default stack)"),
	OPT(metric, 'm', "metric", CHOICE, COMPARE_METRIC_CHOICES,
	    "number to compare and sort by (default: bytes; with --at kept)"),
	TOP_OPTION(struct trace_args, "differences, largest first (default 20; 0 = all)"),
	OPT(same, 0, "same", SET, NULL, "also show rows that did not change"),
	OPT(tolerance, 0, "tolerance", PERCENT, "PERCENT",
	    "ignore differences of at most this percentage of the larger number (default 0)"),
	OPT(fold_recursion, 0, "fold-recursion", SET, NULL,
	    "treat recursive calls in stacks as one call"),
	OPT(align, 0, "align", CHOICE, COMPARE_ALIGN_CHOICES,
	    "how to align the time axes of the heap lines (default start)"),
	OPT(points, 0, "points", NUMBER, "N", "number of points of the heap lines (default 200)"),
	OPT(chart, 0, "no-chart", CLEAR, NULL, "do not draw the heap lines in text output"),
	DEPTH_OPTION(struct trace_args, "default: 8 in text, all in json and csv"),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	FORMAT_OPTION(struct trace_args),
	NO_PAGER_OPTION(struct trace_args),
	OPTION_END};

struct diff {
	const struct command *command;
	const struct diff_args *args;
	enum format format;
	struct compare_query query;
	struct study *trace[2];
	struct stack_source source[2];
	struct type_cascade types[2];
	struct compare_cuts cuts[2]; /* by trace */
	bool two;                    /* traces, else two moments of the first */
};

static int draw(const struct diff *self, const struct comparison *found, struct err *err)
{
	struct strbuf page = {0};
	struct chart_dot *dots = NULL;
	struct chart chart;
	bool drawn;

	if (!self->args->chart || self->format != FORMAT_TEXT || !found->lines.count)
		return 0;
	drawn = compare_chart(found, &chart, &dots);
	if (drawn)
		chart_text(&chart, print_style().width, &page);
	drawn &= !page.failed;
	if (drawn)
		printf("\n%s", strbuf_text(&page));
	strbuf_release(&page);
	free(dots);
	return drawn ? 0 : err_memory_for(err, "the diagram");
}

static int print_difference(struct diff *self, struct err *err)
{
	struct comparison found = {0};
	struct result *result = NULL;
	int status = compare_find(&found, &self->query, err);

	if (status == 0) {
		result = compare_result(&found, err);
		status = result ? 0 : err->code;
	}
	if (result) {
		print_result(result, self->format);
		status = draw(self, &found, err);
	}
	result_free(result);
	comparison_release(&found);
	return status;
}

static int read_trace(struct diff *self, u32 side, const char *path, struct err *err)
{
	struct trace_args how = self->args->trace;
	struct stat about;

	if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
		return err_set(err, ERR_USAGE, "%s is a folder; compare one of the traces in it",
			       path);
	how.chunks = !self->two || self->query.by == COMPARE_BY_TYPE ||
		     self->query.by == COMPARE_BY_THREAD;
	self->trace[side] = open_trace(self->command, &how, NULL, path, err);
	return self->trace[side] ? 0 : err->code;
}

/* Each side has its trace, or the first one's. */
static int set_side(struct diff *self, u32 side, struct err *err)
{
	const struct study *trace = self->trace[self->two ? side : 0];
	struct compare_side *to = &self->query.side[side];
	struct type_query ask = {.source = &self->source[side]};

	self->source[side] = shown_stacks(trace, self->format, self->args->trace.depth);
	to->source = &self->source[side];
	to->info = &trace->info;
	to->label = trace->path;
	if (self->query.by != COMPARE_BY_TYPE)
		return 0;
	to->types = &self->types[side];
	return type_cascade_init(to->types, &ask, err);
}

static int read_cuts(struct diff *self, u32 trace, const struct compare_moment moment[2],
		     struct err *err)
{
	struct compare_cuts *cuts = &self->cuts[trace];
	int status = compare_cuts_init(cuts, self->trace[trace]->model, moment, err);

	for (u32 i = 0; i < COMPARE_CUT_PASSES && status == 0; i++) {
		struct stream_sink sink = compare_cuts_sink(cuts);

		status = study_stream(self->trace[trace], &sink, err);
	}
	return status;
}

static int find_moments(struct diff *self, struct err *err)
{
	const char *const *words = self->args->at.items;
	struct compare_moment moment[2];
	int status = 0;

	for (u32 side = 0; side < 2 && status == 0; side++) {
		status =
			compare_moment_find(self->trace[0]->model, words[side], &moment[side], err);
		self->query.side[side].cuts = &self->cuts[0];
		self->query.side[side].cut = side;
	}
	if (status == 0 && moment[0].ticks > moment[1].ticks)
		fprintf(stderr,
			"heapwise diff: note: '%s' is after '%s'; differences go backwards in "
			"time\n",
			words[0], words[1]);
	return status < 0 ? status : read_cuts(self, 0, moment, err);
}

/* The model knows what each stack had at the peak, but not each type or thread. */
static int find_peaks(struct diff *self, struct err *err)
{
	static const struct compare_moment ends[2] = {{.kind = MOMENT_END}, {.kind = MOMENT_END}};
	int status = 0;

	if (self->query.by != COMPARE_BY_TYPE && self->query.by != COMPARE_BY_THREAD)
		return 0;
	for (u32 side = 0; side < 2 && status == 0; side++) {
		self->query.side[side].cuts = &self->cuts[side];
		status = read_cuts(self, side, ends, err);
	}
	return status;
}

static int compare(struct diff *self, char **paths, struct err *err)
{
	int status = 0;

	for (u32 side = 0; side < (self->two ? 2u : 1u) && status == 0; side++)
		status = read_trace(self, side, paths[side], err);
	for (u32 side = 0; side < 2 && status == 0; side++)
		status = set_side(self, side, err);
	if (status == 0)
		status = self->two ? find_peaks(self, err) : find_moments(self, err);
	if (status == 0)
		status = print_difference(self, err);
	for (u32 side = 0; side < 2; side++) {
		compare_cuts_release(&self->cuts[side]);
		type_cascade_release(&self->types[side]);
		close_trace(self->trace[side]);
	}
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct diff_args *args = fields;
	struct diff self = {.command = command,
			    .args = args,
			    .format = format_parse(args->trace.format),
			    .two = !args->at.count,
			    .query = {.top = args->trace.top,
				      .points = args->points,
				      .tolerance = args->tolerance,
				      .fold_recursion = args->fold_recursion,
				      .list_same = args->same,
				      .severity = format_parse(args->trace.format) != FORMAT_TEXT,
				      .one_trace = args->at.count != 0,
				      .metric = args->at.count ? COMPARE_KEPT : COMPARE_BYTES}};
	struct err err = {0};

	if (args->at.count && args->at.count != 2)
		return command_usage(command, "--at must be given twice: two moments of one FILE");
	if (args->at.count && argc != 1)
		return command_usage(command,
				     argc ? "expected one FILE with --at" : "no FILE given");
	if (!args->at.count && argc != 2)
		return command_usage(command, argc == 1
						      ? "expected a second FILE, or --at twice for "
							"two moments of one FILE"
						      : "expected two FILEs");
	if (!args->points || args->points > POINTS_MAX)
		return command_usage(command, "--points must be 1 to %d", POINTS_MAX);
	if (args->by)
		compare_by_parse(args->by, &self.query.by);
	if (args->metric)
		compare_metric_parse(args->metric, &self.query.metric);
	if (args->align)
		compare_align_parse(args->align, &self.query.align);
	return compare(&self, argv, &err) < 0 ? command_fail(command, &err) : EXIT_DONE;
}

const struct command cmd_diff = {
	.name = "diff",
	.sums = true,
	.operands = "A B | FILE --at MOMENT --at MOMENT",
	.summary = "compare two traces, or two moments of one",
	.details =
		"A (before) and B (after) are traces written by 'heapwise run'. Rows are matched by the names of\n"
		"functions, types and files, so the program may have been rebuilt. Each row is new, gone, grew or\n"
		"shrank. With --at, numbers count events up to that moment, and kept is what is "
		"live then.",
	.options = options,
	.fields_size = sizeof(struct diff_args),
	.fields_default = &defaults,
	.run = run,
};
