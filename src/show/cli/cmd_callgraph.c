/* SPDX-License-Identifier: MIT
 * heapwise trace callgraph: who calls whom and how often, from a trace of routines, or from the stacks of
 * its allocations.
 * Host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/summary/summary.h"
#include "show/cli/loaded.h"
#include "show/cli/progress.h"
#include "show/cli/trace_options.h"

enum { TOP_TEXT = 30 };

struct callgraph_args {
	const char *where;
	const char *format, *dot, *from;
	u64 top, image;
	bool symbols, no_index, no_pager;
};

static const struct callgraph_args defaults = {.top = NOT_GIVEN,
					       .image = NOT_GIVEN,
					       .symbols = true};

static const struct option_spec options[] = {
	TOP_OPTION(struct callgraph_args, "rows of each table (default: 30 in text, all in json and csv; 0 = all)"),
	OPTION(struct callgraph_args, dot, 0, "dot", OPTION_STRING, "FILE",
	       "write the whole graph to FILE for Graphviz instead of printing tables; - = standard output"),
	OPTION(struct callgraph_args, from, 0, "from", OPTION_CHOICE, "auto|routines|stacks",
	       "build the graph from recorded routines or from allocation stacks (default: auto, routines if "
	       "recorded)"),
	TRACE_OPTIONS(struct callgraph_args),
	OPTION_END};

struct show {
	const struct command *command;
	const struct callgraph_args *args;
	enum format format;
	struct loaded trace;
	struct routine_graph routines;
	struct callgraph graph;
};

static int make_of_stacks(struct show *self, struct err *err)
{
	struct stack_source source = loaded_stacks(&self->trace, self->format, 0);
	struct mprof_calls calls = {0};
	int status = mprof_calls_read(&calls, &source, err);

	if (status == 0)
		status = callgraph_of_stacks(&self->graph, &calls, err);
	mprof_calls_release(&calls);
	return status;
}

static bool is_word(const char *word, const char *given) { return given && !strcmp(word, given); }

static int make(struct show *self, struct err *err)
{
	int status = 0;

	if (is_word("stacks", self->args->from))
		return make_of_stacks(self, err);
	if (self->trace.info.routines)
		status = loaded_routines(&self->trace, &self->routines, err);
	if (status < 0)
		return status;
	if (self->routines.counts.enters || self->routines.counts.leaves)
		return callgraph_of_routines(&self->graph, &self->routines, &self->trace.symbols,
					     err);
	if (is_word("routines", self->args->from) && self->args->where)
		return err_set(err, ERR_USAGE,
			       "--where requires --from stacks, because routines do not belong to chunks");
	if (is_word("routines", self->args->from))
		return err_set(
			err, ERR_INPUT,
			"%s has no routine events; record them with 'heapwise run --routines'",
			self->trace.path);
	if (self->args->where)
		return make_of_stacks(self, err);
	fprintf(stderr,
		"heapwise %s: %s has no routine events; using the stacks of its allocations\n",
		self->command->name, self->trace.path);
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
	whole = callgraph_render_dot(&self->graph, self->trace.model->image.program, out);
	if (ferror(out) || (!is_stdout && fclose(out) != 0))
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	return whole ? 0 : err_memory(err);
}

static int print_tables(const struct show *self, struct err *err)
{
	u64 top = self->args->top;
	struct result *result;

	if (top == NOT_GIVEN)
		top = self->format == FORMAT_TEXT ? TOP_TEXT : 0;
	result = callgraph_result(&self->graph, top, err);
	if (!result)
		return err->code;
	add_caveats(result, self->trace.model, &self->trace.info);
	callgraph_add_caveats(result, &self->routines);
	print_result(result, self->format);
	result_free(result);
	return 0;
}

static int show_one(void *opaque, const char *path)
{
	struct show *self = opaque;
	struct err err = {0};
	int status;

	self->trace = (struct loaded){.command = self->command,
				      .path = path,
				      .wanted_image = self->args->image,
				      .find_symbols = self->args->symbols,
				      .no_index = self->args->no_index,
				      .where = self->args->where};
	status = loaded_read(&self->trace, &err);
	if (status == 0)
		status = make(self, &err);
	if (status == 0 && self->args->dot)
		status = write_dot(self, &err);
	if (status == 0 && !is_word("-", self->args->dot))
		status = print_tables(self, &err);
	callgraph_release(&self->graph);
	routine_graph_release(&self->routines);
	loaded_release(&self->trace);
	return status < 0 ? command_fail(self->command, &err) : EXIT_DONE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct callgraph_args *args = fields;
	struct show *self;
	int status;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	self = calloc(1, sizeof(*self));
	if (!self)
		return command_fail(command, &(struct err){ERR_MEMORY, "out of memory"});
	self->command = command;
	self->args = args;
	self->format = format_parse(args->format);
	status = loaded_each(command, argv[0], self->format, show_one, self);
	free(self);
	return status;
}

const struct command cmd_callgraph = {
	.name = "trace callgraph",
	.operands = "FILE",
	.summary = "show who calls whom, and how often",
	.details =
		"Routine events are recorded with 'heapwise run --routines' or imported from EMAD. For other traces\n"
		"the graph is built from allocation stacks, and its edges are weighted by allocations, not by calls.",
	.options = options,
	.fields_size = sizeof(struct callgraph_args),
	.fields_default = &defaults,
	.run = run,
};
