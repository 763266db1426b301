/* SPDX-License-Identifier: MIT
 * heapwise import-heaplog: a trace of HeapLog dumps.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/imports.h"
#include "exchange/heaplog.h"

struct import_args {
	const char *output;
	u64 tick_ns;
};

static const struct import_args defaults = {.tick_ns = 1000000};

static const struct option_spec options[] = {
	OPTION(struct import_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct import_args, tick_ns, 0, "tick-ns", OPTION_NUMBER, "N",
	       "a tick of the dumps is N nanoseconds (1000000)"),
	OPTION_END};

int import_heaplog(const struct command *command, char **from, u32 count, const char *to, u64 tick_ns)
{
	struct heaplog_import how = {.from = from, .from_count = count, .to = to, .tick_ns = tick_ns};
	struct heaplog_summary summary;
	struct err err = {0};

	if (heaplog_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s entries, %s of them freed, %s types, %s nodes\n",
		command->name, units_count(summary.entries).text, units_count(summary.freed).text,
		units_count(summary.types).text, units_count(summary.nodes).text);
	return EXIT_DONE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;

	if (argc < 1)
		return command_usage(command, "which DUMP?");
	if (!args->output)
		return command_usage(command, "where to: -o FILE?");
	if (args->tick_ns == 0 || args->tick_ns > 1000000000)
		return command_usage(command, "--tick-ns wants a number from 1 to 1000000000");
	return import_heaplog(command, argv, (u32)argc, args->output, args->tick_ns);
}

const struct command cmd_import_heaplog = {
	.name = "import-heaplog",
	.operands = "DUMP...",
	.summary = "make a trace of HeapLog dumps",
	.details = "Dumps are those of one run, HeapLog version 4, regular and full ones, in any order.",
	.options = options,
	.fields_size = sizeof(struct import_args),
	.fields_default = &defaults,
	.run = run,
};
