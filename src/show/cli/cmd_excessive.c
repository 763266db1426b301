/* SPDX-License-Identifier: MIT
 * heapwise excessive: does the program allocate excessively, where, and through whom.
 * Host. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/emad/excessive.h"
#include "show/cli/view.h"

struct excessive_args {
	struct trace_args trace;
	const char *method, *rule, *by, *mu, *wrappers, *svg;
	double floor;
	u64 k, seed, restarts;
	bool raw, all_paths, data, charts;
};

static const struct excessive_args defaults = {.trace = {TRACE_DEFAULTS, .top = 10},
					       .wrappers = "auto",
					       .floor = 0.01,
					       .mu = "auto",
					       .seed = 1,
					       .restarts = 10,
					       .charts = true};

#define ARGS struct excessive_args

static const struct option_spec options[] = {
	OPT(method, 0, "method", CHOICE, "kmeans|iqr|both",
	    "method: clusters, outliers of frequency / life, or both compared (default both)"),
	OPT(rule, 0, "rule", CHOICE, "robust|paper",
	    "robust: compare lives with their spread and apply the floor (default); paper: follow "
	    "the paper literally"),
	OPT(by, 'b', "by", CHOICE, "object|caller",
	    "what an object is: chunks of one size, caller and destroyer (object), or of one "
	    "caller and destroyer (caller)"),
	OPT_LIMIT(floor, "floor", PERCENT, "PERCENT",
		  "objects below this percentage of the CPU time, or of all allocations, are not "
		  "excessive (default 1)"),
	OPT_LIMIT(k, "k", NUMBER, "N",
		  "number of clusters, 2 to 64 (default: the best separation of 2 to 12)"),
	OPT(raw, 0, "raw", SET, NULL,
	    "cluster raw frequency and life, not their standardised logarithms"),
	OPT_LIMIT(seed, "seed", NUMBER, "N",
		  "seed for the random choices of clustering (default 1)"),
	OPT_LIMIT(restarts, "restarts", NUMBER, "N", "use the tightest of N attempts (default 10)"),
	OPT_LIMIT(mu, "mu", STRING, "X|auto",
		  "outliers are above Q3 + X * IQR (default auto: the IQR, then the largest gap, "
		  "then 3)"),
	OPT(wrappers, 'w', "wrappers", STRING, "auto|none|LIST",
	    "attribute calls by these functions to their callers; * matches any characters "
	    "(default auto)"),
	TOP_OPTION(struct trace_args, "objects (default 10; 0 = all)"),
	OPT(all_paths, 0, "all-paths", SET, NULL,
	    "show all call paths to each object, not only the heaviest"),
	OPT(data, 0, "data", SET, NULL, "print only the data set: every object that was freed"),
	OPT(svg, 0, "svg", STRING, "FILE", "write both diagrams to FILE"),
	OPT(charts, 0, "no-charts", CLEAR, NULL, "do not draw diagrams in text output"),
	TRACE_OPTIONS,
	LIMITS_OPTION(struct trace_args),
	OPTION_END};

struct judge {
	struct view view;
	const struct excessive_args *args;
	struct wrappers wrappers;
	struct excessive_query query;
	struct excessive found;
};

static int write_svg(const char *path, const struct excessive_charts *charts, struct err *err)
{
	FILE *out = fopen(path, "we");
	bool whole;

	if (!out)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	whole = chart_svg(charts->chart, 2, out);
	if (fclose(out) != 0 || !whole)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

static int draw(const struct judge *self, struct err *err)
{
	const struct excessive *found = &self->found;
	bool text = self->args->charts && self->view.format == FORMAT_TEXT && !self->args->data &&
		    found->enough;
	struct excessive_charts charts;
	struct strbuf page = {0};
	int status = 0;

	if (!text && !self->args->svg)
		return 0;
	if (!excessive_charts_make(&charts, found))
		status = err_memory_for(err, "the diagrams");
	for (u32 i = 0; i < 2 && status == 0 && text; i++) {
		strbuf_add_char(&page, '\n');
		chart_text(&charts.chart[i], print_style().width, &page);
	}
	fputs(strbuf_text(&page), stdout);
	strbuf_release(&page);
	if (status == 0 && self->args->svg)
		status = write_svg(self->args->svg, &charts, err);
	excessive_charts_release(&charts);
	return status;
}

static struct result *build(struct view *view, struct err *err)
{
	struct judge *self = (struct judge *)view;
	struct stack_source source = shown_stacks(view->study, view->format, 0);
	const struct callgraph *graph = NULL;

	self->query.routines = NULL;
	self->query.info = &view->study->info;
	if (view->study->info.routines) {
		graph = study_callgraph(view->study, err);
		if (!graph)
			return NULL;
	}
	/* Paths then say how often a routine was called at all, not only to allocate. */
	if (graph && !graph->from_stacks && graph->edges.count)
		self->query.routines = graph;
	if (excessive_find(&self->found, &source, &self->query, err) < 0)
		return NULL;
	return self->args->data ? excessive_data(&self->found, err)
				: excessive_result(&self->found, err);
}

static int print(struct view *view, struct result *result)
{
	struct err err = {0};

	print_result(result, view->format);
	return draw((struct judge *)view, &err) < 0 ? command_fail(view->command, &err) : EXIT_DONE;
}

static void release(struct view *view)
{
	struct judge *self = (struct judge *)view;

	excessive_release(&self->found);
	self->found = (struct excessive){0};
}

static bool read_mu(const char *text, struct excessive_query *query)
{
	char *end;

	if (!text || strcmp(text, "auto") == 0)
		return true;
	query->mu = strtod(text, &end);
	query->has_mu = true;
	return end != text && !*end && isfinite(query->mu) && query->mu >= 0;
}

static u32 methods(const char *word)
{
	if (word && strcmp(word, "kmeans") == 0)
		return BY_KMEANS;
	return word && strcmp(word, "iqr") == 0 ? BY_IQR : BY_BOTH;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct excessive_args *args = fields;
	struct judge self = {.view = {.command = command,
				      .args = &args->trace,
				      .build = build,
				      .print = print,
				      .release = release},
			     .args = args,
			     .query = {.methods = methods(args->method),
				       .paper = args->rule && strcmp(args->rule, "paper") == 0,
				       .by_caller = args->by && strcmp(args->by, "caller") == 0,
				       .raw = args->raw,
				       .floor = args->floor,
				       .k = (u32)args->k,
				       .seed = args->seed,
				       .restarts =
					       args->restarts > 1000 ? 1000 : (u32)args->restarts,
				       .top = args->trace.top,
				       .all_paths = args->all_paths}};
	struct err err = {0};
	int status;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	if (args->k && (args->k < 2 || args->k > KMEANS_MAX))
		return command_usage(command, "--k must be 2 to %d", KMEANS_MAX);
	if (!read_mu(args->mu, &self.query))
		return command_usage(command, "--mu must be 0 or greater, or auto, not '%s'",
				     args->mu);
	if (wrappers_parse(&self.wrappers, args->wrappers, &err) < 0) {
		wrappers_release(&self.wrappers);
		return command_usage(command, "%s", err.text);
	}
	self.query.wrappers = &self.wrappers;
	status = view_run(&self.view, argc, argv);
	wrappers_release(&self.wrappers);
	return status;
}

const struct command cmd_excessive = {
	.name = "excessive",
	.operands = "FILE",
	.summary = "find objects that are allocated often and live briefly",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"An object is all chunks of one size that one routine allocates and one routine frees. The two\n"
		"methods of the EMAD paper find objects that are frequent and short-lived.",
	.options = options,
	.fields_size = sizeof(struct excessive_args),
	.fields_default = &defaults,
	.run = run,
};
