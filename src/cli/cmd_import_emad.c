/* SPDX-License-Identifier: MIT
 * heapwise import-emad: a trace of the text that EMAD writes.
 * Host. */
#include <stdio.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/imports.h"
#include "exchange/emad.h"

struct import_args {
	const char *output;
	u64 tick_ns;
};

static const struct import_args defaults = {.tick_ns = 1};

static const struct option_spec options[] = {
	OPTION(struct import_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct import_args, tick_ns, 0, "tick-ns", OPTION_NUMBER, "N",
	       "a unit of the text's times is N nanoseconds (1)"),
	OPTION_END};

int import_emad(const struct command *command, const char *from, const char *to, u64 tick_ns)
{
	struct emad_import how = {.from = from, .to = to, .tick_ns = tick_ns};
	struct emad_summary summary;
	struct err err = {0};

	if (emad_import(&how, &summary, &err) < 0)
		return command_fail(command, &err);
	fprintf(stderr, "heapwise %s: %s messages of %s routines, %s allocations, %s frees\n",
		command->name, units_count(summary.messages).text,
		units_count(summary.routines).text, units_count(summary.allocations).text,
		units_count(summary.frees).text);
	return EXIT_DONE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;

	if (argc != 1)
		return command_usage(command, argc ? "one TEXT at a time" : "which TEXT?");
	if (!args->output)
		return command_usage(command, "where to: -o FILE?");
	if (args->tick_ns == 0 || args->tick_ns > 1000000000)
		return command_usage(command, "--tick-ns wants a number from 1 to 1000000000");
	return import_emad(command, argv[0], args->output, args->tick_ns);
}

const struct command cmd_import_emad = {
	.name = "import-emad",
	.operands = "TEXT",
	.summary = "make a trace of a routine trace in EMAD's text form",
	.details =
		"A line is 'THREAD ROUTINE start|exit NAME', with numbers after the name where the "
		"routine\n"
		"allocates (start: size; exit: address, time) or frees (start: address; exit: "
		"time). "
		"Sizes and\n"
		"times are decimal, addresses hexadecimal.",
	.options = options,
	.fields_size = sizeof(struct import_args),
	.fields_default = &defaults,
	.run = run,
};
