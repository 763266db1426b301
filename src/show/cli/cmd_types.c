/* SPDX-License-Identifier: MIT
 * heapwise types: what was allocated, by type, and who says so.
 * Host. */
#include "study/analysis/types/result.h"
#include "show/cli/thresholds.h"
#include "show/cli/view.h"

struct types_args {
	struct trace_args trace;
	const char *sort, *fields, *index;
	bool fold, chunks, guess;
	struct thresholds thresholds;
};

static const struct types_args defaults = {.trace = {TRACE_DEFAULTS, .top = 20},
					   .guess = true,
					   .thresholds = THRESHOLDS_DEFAULT};

#define ARGS struct types_args

static const struct option_spec options[] = {
	OPT(sort, 's', "sort", CHOICE, "peak|bytes|count|kept",
	    "sort types by this, largest first (default peak)"),
	OPT(fold, 0, "fold", SET, NULL, "merge types of one template: std::vector<*>"),
	TOP_OPTION(struct trace_args, "types (default 20; 0 = all)"),
	OPT(fields, 0, "fields", STRING, "TYPE",
	    "show the members of TYPE, and which of their bytes are used"),
	OPT(chunks, 0, "chunks", SET, NULL, "list chunks instead of types"),
	OPT(guess, 0, "no-guess", CLEAR, NULL, "do not guess types from source lines"),
	OPT(index, 0, "index", STRING, "PATH",
	    "use this index of the sources (default: the one beside the program)"),
	DEBUG_PATH_OPTION(struct trace_args),
	TRACE_OPTIONS,
	OPTION_END};

static struct result *build(struct view *view, struct err *err)
{
	const struct types_args *args = (const struct types_args *)view->args;
	struct stack_source source = shown_stacks(view->study, view->format, NOT_GIVEN);
	struct type_query ask = {.source = &source,
				 .index = args->index,
				 .debug_path = args->trace.debug_path,
				 .guess = args->guess || args->fields};
	struct types_query query = {.top = args->trace.top,
				    .fold = args->fold,
				    .chunks = args->chunks,
				    .thresholds = args->thresholds};
	struct type_cascade types = {0};
	struct result *result;

	if (args->sort)
		types_by_parse(args->sort, &query.by);
	if (type_cascade_init(&types, &ask, err) < 0)
		return NULL;
	result = args->fields ? analyse_fields(&types, args->fields, err)
			      : analyse_types(&types, &query, err);
	type_cascade_release(&types);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct view view = {.command = self, .args = fields, .build = build};

	return view_run(&view, argc, argv);
}

const struct command cmd_types = {
	.name = "types",
	.operands = "FILE",
	.summary = "show allocations by type",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"Types come from these sources, in this order: the program itself (declared), the objects\n"
		"(vtable), the templates that allocated (frame), the sources (index, see 'heapwise trace types-index'),\n"
		"the compiler (dwarf), and the source line, a guess. The first line shows how much has no\n"
		"type.",
	.options = options,
	.fields_size = sizeof(struct types_args),
	.fields_default = &defaults,
	.run = run,
};
