/* SPDX-License-Identifier: MIT
 * heapwise import-heaptrack: a trace of a file that heaptrack recorded.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/imports.h"
#include "exchange/heaptrack.h"

struct import_args {
	const char *output;
};

static const struct option_spec options[] = {OPTION(struct import_args, output, 'o', "output",
						    OPTION_STRING, "FILE",
						    "write the trace to FILE"),
					     OPTION_END};

int import_heaptrack(const struct command *command, const char *from, const char *to)
{
	struct heaptrack_import how = {.from = from, .to = to};
	struct heaptrack_summary summary;
	struct err err = {0};

	if (heaptrack_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s allocations, %s frees, %s stacks%s\n", command->name,
		units_count(summary.allocations).text, units_count(summary.frees).text,
		units_count(summary.stacks).text, summary.cut ? "; the file breaks off" : "");
	return EXIT_DONE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	if (!args->output)
		return command_usage(command, "where to: -o FILE?");
	return import_heaptrack(command, argv[0], args->output);
}

const struct command cmd_import_heaptrack = {
	.name = "import-heaptrack",
	.operands = "FILE",
	.summary = "make a trace of a file of heaptrack",
	.details = "FILE is what heaptrack wrote, interpreted (heaptrack.PROGRAM.PID.zst) or raw\n"
		   "(heaptrack --raw), plain or compressed by gzip or zstd.",
	.options = options,
	.fields_size = sizeof(struct import_args),
	.run = run,
};
