/* SPDX-License-Identifier: MIT
 * heapwise import: a trace of another program's file, whichever of the known ones it is.
 * Host. */
#include "cli/imports.h"
#include "exchange/recognise.h"

struct import_args {
	const char *output;
	u64 tick_ns;
};

static const struct option_spec options[] = {
	OPTION(struct import_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct import_args, tick_ns, 0, "tick-ns", OPTION_NUMBER, "N",
	       "a unit of the file's times is N nanoseconds (EMAD: 1, HeapLog: 1000000)"),
	OPTION_END};

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;
	enum exchange_format format;
	struct err err = {0};

	if (argc < 1)
		return command_usage(command, "no FILE given");
	if (!args->output)
		return command_usage(command, "where to: -o FILE?");
	if (args->tick_ns > 1000000000)
		return command_usage(command, "--tick-ns wants a number from 1 to 1000000000");
	if (exchange_recognise(argv[0], &format, &err) < 0)
		return command_fail(command, &err);
	if (argc > 1 && format != EXCHANGE_HEAPLOG)
		return command_usage(command,
				     "one FILE at a time, unless they are dumps of HeapLog");
	switch (format) {
	case EXCHANGE_EMAD:
		return import_emad(command, argv[0], args->output,
				   args->tick_ns ? args->tick_ns : 1);
	case EXCHANGE_HEAPLOG:
		return import_heaplog(command, argv, (u32)argc, args->output,
				      args->tick_ns ? args->tick_ns : 1000000);
	case EXCHANGE_HEAPTRACK:
		return import_heaptrack(command, argv[0], args->output);
	case EXCHANGE_UNKNOWN:
		break;
	}
	err_set(&err, ERR_INPUT, "%s is neither of heaptrack nor of HeapLog nor of EMAD", argv[0]);
	return command_fail(command, &err);
}

const struct command cmd_import = {
	.name = "import",
	.operands = "FILE...",
	.summary = "make a trace of another program's file",
	.details =
		"What FILE is, is found by what stands in it: a recording of heaptrack, dumps of "
		"HeapLog,\n"
		"or a routine trace of EMAD; see import-heaptrack, import-heaplog and import-emad.",
	.options = options,
	.fields_size = sizeof(struct import_args),
	.run = run,
};
