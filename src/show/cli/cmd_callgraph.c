/* SPDX-License-Identifier: MIT
 * heapwise trace callgraph: who calls whom and how often, from a trace of routines, or from the
 * stacks of its allocations.
 * Host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/summary/summary.h"
#include "show/cli/view.h"

enum { TOP_TEXT = 30 };

struct callgraph_args {
	struct trace_args trace;
	const char *dot, *from;
};

static const struct callgraph_args defaults = {.trace = {TRACE_DEFAULTS, .top = NOT_GIVEN}};

#define ARGS struct callgraph_args

static const struct option_spec options[] = {
	TOP_OPTION(struct trace_args,
		   "rows of each table (default: 30 in text, all in json and csv; 0 = all)"),
	OPT(dot, 0, "dot", STRING, "FILE",
	    "write the whole graph to FILE for Graphviz instead of printing tables; - = standard "
	    "output"),
	OPT(from, 0, "from", CHOICE, "auto|routines|stacks",
	    "build the graph from recorded routines or from allocation stacks (default: auto, "
	    "routines if recorded)"),
	TRACE_OPTIONS, OPTION_END};

struct show {
	struct view view;
	const struct callgraph_args *args;
	struct callgraph graph;
	const struct routine_graph *routines; /* NULL = not asked for */
};

static int make_of_stacks(struct show *self, struct err *err)
{
	const struct mprof_calls *calls = study_calls(self->view.study, err);

	return calls ? callgraph_of_stacks(&self->graph, calls, err) : err->code;
}

static bool is_word(const char *word, const char *given) { return given && !strcmp(word, given); }

static int make(struct show *self, struct err *err)
{
	struct study *study = self->view.study;
	const char *from = self->args->from;

	self->routines = NULL;
	if (is_word("stacks", from))
		return make_of_stacks(self, err);
	self->routines = study_routines(study, err);
	if (!self->routines)
		return err->code;
	if (self->routines->counts.enters || self->routines->counts.leaves)
		return callgraph_of_routines(&self->graph, self->routines, &study->symbols, err);
	if (is_word("routines", from) && self->args->trace.where)
		return err_set(err, ERR_USAGE,
			       "--where requires --from stacks, because routines do not belong to "
			       "chunks");
	if (is_word("routines", from))
		return err_set(
			err, ERR_INPUT,
			"%s has no routine events; record them with 'heapwise run --routines'",
			study->path);
	if (!self->args->trace.where)
		fprintf(stderr,
			"heapwise %s: %s has no routine events; using the stacks of its "
			"allocations\n",
			self->view.command->name, study->path);
	return make_of_stacks(self, err);
}

static int write_dot(const struct show *self, struct err *err)
{
	const char *path = self->args->dot;
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *out = is_stdout ? stdout : fopen(path, "we");
	bool whole;

	if (!out)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	if (is_stdout)
		progress_end();
	whole = callgraph_render_dot(&self->graph, self->view.study->model->image.program, out);
	if (ferror(out) || (!is_stdout && fclose(out) != 0))
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	return whole ? 0 : err_memory(err);
}

static struct result *build(struct view *view, struct err *err)
{
	struct show *self = (struct show *)view;
	u64 top = self->args->trace.top;
	struct result *result;

	if (top == NOT_GIVEN)
		top = view->format == FORMAT_TEXT ? TOP_TEXT : 0;
	if (make(self, err) < 0 || (self->args->dot && write_dot(self, err) < 0))
		return NULL;
	result = callgraph_result(&self->graph, top, err);
	if (result) {
		add_caveats(result, view->study->model, &view->study->info);
		if (self->routines)
			callgraph_add_caveats(result, self->routines);
	}
	return result;
}

static int print(struct view *view, struct result *result)
{
	if (!is_word("-", ((struct show *)view)->args->dot))
		print_result(result, view->format);
	return EXIT_DONE;
}

static void release(struct view *view) { callgraph_release(&((struct show *)view)->graph); }

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	struct show self = {.view = {.command = command,
				     .args = fields,
				     .build = build,
				     .print = print,
				     .release = release},
			    .args = fields};

	return view_run(&self.view, argc, argv);
}

const struct command cmd_callgraph = {
	.name = "trace callgraph",
	.operands = "FILE",
	.summary = "show who calls whom, and how often",
	.details =
		"Routine events are recorded with 'heapwise run --routines' or imported from EMAD. For other traces\n"
		"the graph is built from allocation stacks, and its edges are weighted by "
		"allocations, not by calls.",
	.options = options,
	.fields_size = sizeof(struct callgraph_args),
	.fields_default = &defaults,
	.run = run,
};
