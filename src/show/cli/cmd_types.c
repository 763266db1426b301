/* SPDX-License-Identifier: MIT
 * heapwise types: what was allocated, by type, and who says so.
 * Host. */
#include "study/analysis/types/result.h"
#include "show/cli/loaded.h"
#include "show/cli/thresholds.h"
#include "show/cli/trace_options.h"

struct types_args {
	const char *where;
	const char *sort, *format, *fields, *index, *debug_path;
	u64 top, image;
	bool symbols, fold, chunks, guess, no_index, no_pager;
	struct thresholds thresholds;
};

static const struct types_args defaults = {.top = 20,
					   .image = NOT_GIVEN,
					   .symbols = true,
					   .guess = true,
					   .thresholds = THRESHOLDS_DEFAULT};

static const struct option_spec options[] = {
	OPTION(struct types_args, sort, 's', "sort", OPTION_CHOICE, "peak|bytes|count|kept",
	       "sort types by this, largest first (default peak)"),
	OPTION(struct types_args, fold, 0, "fold", OPTION_SET, NULL,
	       "merge types of one template: std::vector<*>"),
	TOP_OPTION(struct types_args, "types (default 20; 0 = all)"),
	OPTION(struct types_args, fields, 0, "fields", OPTION_STRING, "TYPE",
	       "show the members of TYPE, and which of their bytes are used"),
	OPTION(struct types_args, chunks, 0, "chunks", OPTION_SET, NULL,
	       "list chunks instead of types"),
	OPTION(struct types_args, guess, 0, "no-guess", OPTION_CLEAR, NULL,
	       "do not guess types from sizes"),
	OPTION(struct types_args, index, 0, "index", OPTION_STRING, "PATH",
	       "use this index of the sources (default: the one beside the program)"),
	DEBUG_PATH_OPTION(struct types_args),
	TRACE_OPTIONS(struct types_args),
	OPTION_END};

struct types {
	struct view view;
	const struct types_args *args;
	enum types_by by;
};

static struct result *build(struct view *view, struct err *err)
{
	const struct types *self = (const struct types *)view;
	struct stack_source source = loaded_stacks(&view->trace, view->format, NOT_GIVEN);
	struct type_query ask = {.source = &source,
				 .index = self->args->index,
				 .debug_path = self->args->debug_path,
				 .guess = self->args->guess || self->args->fields};
	struct types_query query = {.by = self->by,
				    .top = self->args->top,
				    .fold = self->args->fold,
				    .chunks = self->args->chunks,
				    .thresholds = self->args->thresholds};
	struct type_cascade types = {0};
	struct result *result;

	if (type_cascade_init(&types, &ask, err) < 0)
		return NULL;
	result = self->args->fields ? analyse_fields(&types, self->args->fields, err)
				    : analyse_types(&types, &query, err);
	type_cascade_release(&types);
	return result;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct types_args *args = fields;
	struct types types = {.view = {.command = self,
				       .format = format_parse(args->format),
				       .image = args->image,
				       .find_symbols = args->symbols,
				       .no_index = args->no_index,
				       .where = args->where,
				       .build = build},
			      .args = args};

	if (args->sort)
		types_by_parse(args->sort, &types.by);
	return view_run(&types.view, argc, argv);
}

const struct command cmd_types = {
	.name = "types",
	.operands = "FILE",
	.summary = "show allocations by type",
	.details = "FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		   "Types come from these sources, in this order: the program itself (declared), the objects\n"
		   "(vtable), the templates that allocated (frame), the sources (index, see 'heapwise trace types-index'),\n"
		   "the compiler (dwarf), and the size, which is only a guess. The first line shows how much has no\n"
		   "type.",
	.options = options,
	.fields_size = sizeof(struct types_args),
	.fields_default = &defaults,
	.run = run,
};
