/* SPDX-License-Identifier: MIT
 * heapwise import: a trace of another program's file, whichever of the known ones it is.
 * Host. */
#include <string.h>

#include "show/cli/imports.h"
#include "show/formats/recognise.h"

struct import_args {
	const char *output, *from;
	u64 tick_ns;
};

enum { TICK_MAX_NS = 1000000000 };

static const struct import_args defaults = {.tick_ns = UINT64_MAX};

static const struct option_spec options[] = {
	OPTION(struct import_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write the trace to FILE"),
	OPTION(struct import_args, from, 0, "from", OPTION_CHOICE, "auto|emad|heaplog|heaptrack",
	       "the format of the file (auto: detected from its contents)"),
	OPTION(struct import_args, tick_ns, 0, "tick-ns", OPTION_NUMBER, "N",
	       "length of the file's time unit in nanoseconds (default: EMAD 1, HeapLog 1000000)"),
	OPTION_END};

static int find_format(const struct import_args *args, const char *path, enum exchange_format *format,
		       struct err *err)
{
	static const char *const names[] = {[EXCHANGE_EMAD] = "emad",
					    [EXCHANGE_HEAPLOG] = "heaplog",
					    [EXCHANGE_HEAPTRACK] = "heaptrack"};

	for (u32 i = EXCHANGE_EMAD; args->from && i <= EXCHANGE_HEAPTRACK; i++)
		if (strcmp(args->from, names[i]) == 0) {
			*format = (enum exchange_format)i;
			return 0;
		}
	return exchange_recognise(path, format, err);
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;
	bool has_tick = args->tick_ns != defaults.tick_ns;
	enum exchange_format format;
	struct err err = {0};

	if (argc < 1)
		return command_usage(command, "no FILE given");
	if (!args->output)
		return command_usage(command, "no output file given; use -o FILE");
	if (has_tick && (!args->tick_ns || args->tick_ns > TICK_MAX_NS))
		return command_usage(command, "--tick-ns must be 1 to %d", TICK_MAX_NS);
	if (find_format(args, argv[0], &format, &err) < 0)
		return command_fail(command, &err);
	if (argc > 1 && format != EXCHANGE_HEAPLOG)
		return command_usage(command,
				     "expected one FILE; only HeapLog dumps can be several");
	switch (format) {
	case EXCHANGE_EMAD:
		return import_emad(command, argv[0], args->output, has_tick ? args->tick_ns : 1);
	case EXCHANGE_HEAPLOG:
		return import_heaplog(command, argv, (u32)argc, args->output,
				      has_tick ? args->tick_ns : 1000000);
	case EXCHANGE_HEAPTRACK:
		return import_heaptrack(command, argv[0], args->output);
	case EXCHANGE_UNKNOWN:
		break;
	}
	err_set(&err, ERR_INPUT, "%s: unrecognised format (expected heaptrack, HeapLog or EMAD)", argv[0]);
	return command_fail(command, &err);
}

const struct command cmd_import = {
	.name = "import",
	.operands = "FILE...",
	.summary = "convert a recording of another tool (heaptrack, HeapLog, EMAD) to a trace",
	.details =
		"heaptrack: a heaptrack recording, interpreted (heaptrack.PROGRAM.PID.zst) or raw\n"
		"(heaptrack --raw), plain or compressed by gzip or zstd.\n"
		"heaplog: HeapLog version 4, all dumps of one run, regular and full, in any order.\n"
		"emad: a routine trace in EMAD's text format.",
	.options = options,
	.fields_size = sizeof(struct import_args),
	.fields_default = &defaults,
	.run = run,
};
