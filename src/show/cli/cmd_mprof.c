/* SPDX-License-Identifier: MIT
 * heapwise mprof: the four tables of the profiler mprof (Zorn and Hilfinger, 1988).
 * Host. */
#include <stdio.h>
#include <string.h>

#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/bins.h"
#include "study/analysis/mprof/direct.h"
#include "study/analysis/mprof/graph.h"
#include "study/analysis/mprof/leaks.h"
#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "show/cli/view.h"

enum { CHAIN_DEPTH = 5 };

struct mprof_args {
	struct trace_args trace;
	const char *table, *bins, *cycles;
	bool verbose, normal, terse;
	bool leaktable, offsets, fold, types, startup;
};

static const struct mprof_args defaults = {.trace = {.depth = CHAIN_DEPTH,
						     .image = NOT_GIVEN,
						     .symbols = true},
					   .leaktable = true,
					   .fold = true,
					   .types = true};

#define ARGS struct mprof_args

static const struct option_spec options[] = {
	OPT(verbose, 'v', "verbose", SET, NULL, "show every leak, every bin and all type names"),
	OPT(normal, 0, "normal", SET, NULL,
	    "show leaks and bins above 0.5 % of the total (the default)"),
	OPT(terse, 0, "terse", SET, NULL, "show leaks and bins above 1 % of the total"),
	OPT(table, 0, "table", CHOICE, "leaks|bins|types|direct|graph", "show only this table"),
	OPT(leaktable, 0, "leaktable", SET, NULL, "show the table of memory leaks (the default)"),
	OPT(leaktable, 0, "no-leaktable", CLEAR, NULL, "do not show the table of memory leaks"),
	OPTION(struct trace_args, depth, 'd', "depth", OPTION_NUMBER, "N",
	       "distinguish leaks by the last N callers (default 5; 0 = the whole chain)"),
	OPT(offsets, 0, "offsets", SET, NULL, "distinguish calls in one function: function+offset"),
	OPT(bins, 0, "bins", CHOICE, "exact|log",
	    "one bin per size up to 1024 bytes, or per power of two (default exact)"),
	OPT(types, 0, "no-types", CLEAR, NULL,
	    "do not search debug information for types that match the bins' sizes"),
	DEBUG_PATH_OPTION(struct trace_args),
	OPT(cycles, 0, "cycles", CHOICE, "merge|keep",
	    "merge functions that call each other in a cycle, or show the calls in the cycle "
	    "(default merge)"),
	OPT(fold, 0, "no-fold", CLEAR, NULL,
	    "do not merge standard library functions that call each other"),
	OPT(startup, 0, "startup", SET, NULL,
	    "Lisp: also show what the Lisp system allocates before it runs a program"),
	TRACE_OPTIONS,
	OPTION_END};

struct mprof {
	struct view view;
	const struct mprof_args *args;
	struct mprof_calls calls;
};

static enum mprof_verbosity verbosity(const struct mprof_args *args)
{
	if (args->verbose)
		return MPROF_VERBOSE;
	return args->terse ? MPROF_TERSE : MPROF_NORMAL;
}

static bool is_chosen(const struct mprof_args *args, const char *table)
{
	if (args->table)
		return strcmp(args->table, table) == 0;
	return args->leaktable || strcmp(table, "leaks") != 0;
}

static bool is_word(const char *word, const char *given) { return given && !strcmp(word, given); }

/* The tables in the order of the paper. A part that fails is NULL, which its parent notes. */
static void add_tables(struct mprof *self, struct result *result, struct err *err)
{
	const struct mprof_args *args = self->args;
	struct mprof_leaks_query leaks = {.verbosity = verbosity(args),
					  .depth = args->trace.depth > UINT32_MAX
							   ? 0
							   : (u32)args->trace.depth,
					  .offsets = args->offsets,
					  .debug_path = args->trace.debug_path};
	struct mprof_bins_query bins = {.verbosity = verbosity(args),
					.log = is_word("log", args->bins),
					.no_types = !args->types,
					.debug_path = args->trace.debug_path};
	struct mprof_graph_query graph = {.keep_cycles = is_word("keep", args->cycles)};

	if (self->calls.lisp) {
		if (is_chosen(args, "types"))
			result_add_part(result,
					analyse_lisp_types(&self->calls, verbosity(args), err));
	} else if (is_chosen(args, "leaks"))
		result_add_part(result, analyse_mprof_leaks(&self->calls, &leaks, err));
	if (!self->calls.lisp && is_chosen(args, "bins"))
		result_add_part(result, analyse_mprof_bins(self->view.study->model, &bins, err));
	if (is_chosen(args, "direct"))
		result_add_part(result, analyse_mprof_direct(&self->calls, err));
	if (is_chosen(args, "graph"))
		result_add_part(result, analyse_mprof_graph(&self->calls, &graph, err));
}

static struct result *build(struct view *view, struct err *err)
{
	struct mprof *self = (struct mprof *)view;
	struct stack_source source = shown_stacks(view->study, view->format, NOT_GIVEN);
	struct result *result = result_new(RESULT_RECORD, "mprof", "");

	source.fold = self->args->fold;
	if (!result) {
		err_memory(err);
		return NULL;
	}
	add_caveats(result, view->study->model, &view->study->info);
	if (mprof_calls_read_lisp(&self->calls, &source, self->args->startup, err) == 0) {
		if (self->calls.startup.calls)
			result_add_caveat(result,
					  "the start of the Lisp system, %s in %s objects, "
					  "is not included; --startup shows it",
					  units_bytes(self->calls.startup.bytes).text,
					  units_count(model_count(view->study->model,
								  self->calls.startup.calls))
						  .text);
		add_tables(self, result, err);
		if (!result_failed(result))
			return result;
	}
	if (!err->code)
		err_memory(err);
	result_free(result);
	return NULL;
}

/* The result has names that the calls own. */
static void release(struct view *view)
{
	struct mprof *self = (struct mprof *)view;

	mprof_calls_release(&self->calls);
	self->calls = (struct mprof_calls){0};
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct mprof_args *args = fields;
	struct mprof self = {.view = {.command = command,
				      .args = &args->trace,
				      .build = build,
				      .release = release},
			     .args = args};

	if (args->verbose + args->normal + args->terse > 1)
		return command_usage(command, "--verbose, --normal and --terse cannot be combined");
	return view_run(&self.view, argc, argv);
}

const struct command cmd_mprof = {
	.name = "mprof",
	.sums = true,
	.operands = "FILE",
	.summary = "show leaks, sizes, direct allocations and call graph, in the tables of mprof "
		   "(1988)",
	.details =
		"Prints the four tables of mprof, the memory allocation profiler of Zorn and Hilfinger (1988).\n"
		"Sizes: s up to 32 bytes, m up to 256, l up to 2048, x larger. Percentages below 1 are blank.\n"
		"For Lisp (run --lisp), letters are types: c cons, f floating point, s structure or vector,\n"
		"o other; there is no table of leaks, and a table of types replaces the table of "
		"sizes.",
	.options = options,
	.fields_size = sizeof(struct mprof_args),
	.fields_default = &defaults,
	.run = run,
};
