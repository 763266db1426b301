/* SPDX-License-Identifier: MIT
 * heapwise trace symbolize: looks up function names and source lines and keeps them in the trace.
 * Host. */
#include <stdio.h>

#include "host/base/units.h"
#include "show/cli/trace_options.h"
#include "show/cli/traces.h"
#include "host/symbols/remedy.h"
#include "host/symbols/resolve/resolve.h"

struct symbolize_args {
	const char *debug_path;
	const char *format;
	bool no_inlines;
};

static const struct option_spec options[] = {
	DEBUG_PATH_OPTION(struct symbolize_args),
	OPTION(struct symbolize_args, no_inlines, 0, "no-inlines", OPTION_SET, NULL,
	       "name only the function that contains the code, not functions inlined into it"),
	FORMAT_OPTION(struct symbolize_args), OPTION_END};

static struct result *describe(const char *path, const struct symbolize_summary *found)
{
	struct result *result = result_new(RESULT_RECORD, "symbols", "");
	const struct {
		struct result_column column;
		u64 value;
	} fields[] = {
		{COLUMN("addresses", "addresses", VALUE_COUNT, "distinct addresses in all stacks"),
		 found->addresses},
		{COLUMN("named", "named", VALUE_COUNT, "addresses with a function name"),
		 found->named},
		{COLUMN("with_lines", "with lines", VALUE_COUNT, "addresses with file and line"),
		 found->with_lines},
		{COLUMN("modules", "modules", VALUE_COUNT, "modules that contain an address"),
		 found->modules},
		{COLUMN("modules_missing", "missing", VALUE_COUNT,
			"modules whose file is missing or was replaced by another build"),
		 found->modules_missing},
		{COLUMN("modules_stripped", "stripped", VALUE_COUNT,
			"modules with neither symbol table nor debug info"),
		 found->modules_stripped},
	};

	if (!result)
		return NULL;
	result->title = result_copy(result, path);
	for (u32 i = 0; i < sizeof fields / sizeof *fields; i++)
		result_add_field(result, fields[i].column, value_number(fields[i].value));
	if (found->modules_missing)
		result_add_caveat(result,
				  "files that changed since the run are not used, because their "
				  "names would be wrong");
	if (found->modules_stripped)
		result_add_caveat(result,
				  "install debug files of stripped modules, give their folder with "
				  "--debug-path, or set DEBUGINFOD_URLS=%s",
				  remedy_server(""));
	return result;
}

/* Who asks for it has the time: as much as 'heapwise types' would read. */
enum { TYPE_BYTES = 160 << 20 };

static int symbolize_one(const struct command *self, const struct symbolize_args *args,
			 const char *path)
{
	struct symbolize_options how = {.no_inlines = args->no_inlines,
					.debug_path = args->debug_path,
					.type_bytes = TYPE_BYTES,
					.progress = progress_share};
	struct symbolize_summary found = {0};
	struct err err = {0};

	progress_phase("looking up names of", path);
	if (symbols_resolve_trace(path, &how, &found, &err) < 0)
		return command_fail(self, &err);
	return print_made(self, describe(path, &found), format_parse(args->format));
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	struct trace_list traces = {0};
	struct err err = {0};
	int worst = EXIT_DONE;

	if (argc != 1)
		return command_usage(self, argc ? "expected one FILE" : "no FILE given");
	if (trace_list_find(&traces, argv[0], &err) < 0) {
		trace_list_release(&traces);
		return command_fail(self, &err);
	}
	for (u64 i = 0; i < traces.paths.count; i++) {
		int status = symbolize_one(self, fields, traces.paths.data[i]);

		if (status > worst)
			worst = status;
	}
	trace_list_release(&traces);
	return worst;
}

const struct command cmd_symbolize = {
	.name = "trace symbolize",
	.operands = "FILE",
	.summary = "look up function names and source lines, and store them in the trace",
	.details =
		"'heapwise run' does this at its end, and 'heapwise report' if names are "
		"missing. Repeat it after\n"
		"installing debug files; new names replace the old ones. A module file with another build-id than\n"
		"the recorded one is not used. If DEBUGINFOD_URLS is set, these servers are "
		"queried.",
	.options = options,
	.fields_size = sizeof(struct symbolize_args),
	.run = run,
};
