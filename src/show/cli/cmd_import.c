/* SPDX-License-Identifier: MIT
 * heapwise import: a trace of another program's file, whichever of the known ones it is.
 * Host. */
#include <stdio.h>

#include "show/cli/command.h"
#include "show/cli/print.h"
#include "show/formats/formats.h"

struct import_args {
	const char *output, *from;
	u64 tick_ns;
};

enum { TICK_MAX_NS = 1000000000 };

static const struct import_args defaults = {.tick_ns = UINT64_MAX};

#define ARGS struct import_args

static const struct option_spec options[] = {
	OPT(output, 'o', "output", STRING, "FILE", "write the trace to FILE"),
	OPT(from, 0, "from", CHOICE, "auto|" READ_FORMATS,
	    "the format of the file (auto: detected from its contents)"),
	OPT(tick_ns, 0, "tick-ns", NUMBER, "N",
	    "length of the file's time unit in nanoseconds (default: EMAD 1, HeapLog 1000000)"),
	OPTION_END};

static int import(const struct command *command, const struct file_format *format,
		  const struct import_job *job)
{
	struct strbuf told = {0};
	struct err err = {0};

	progress_phase("importing", job->from[0]);
	if (format->read(job, &told, &err) < 0)
		return command_fail(command, &err);
	progress_end();
	fprintf(stderr, "heapwise %s: %s\n", command->name, strbuf_text(&told));
	strbuf_release(&told);
	return EXIT_DONE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct import_args *args = fields;
	bool has_tick = args->tick_ns != defaults.tick_ns;
	const struct file_format *format = format_find(args->from); /* "auto" is none */
	struct import_job job = {.from = argv, .count = (u32)argc, .to = args->output};
	struct err err = {0};

	if (argc < 1)
		return command_usage(command, "no FILE given");
	if (!args->output)
		return command_usage(command, "no output file given; use -o FILE");
	if (has_tick && (!args->tick_ns || args->tick_ns > TICK_MAX_NS))
		return command_usage(command, "--tick-ns must be 1 to %d", TICK_MAX_NS);
	if (!format && format_recognise(argv[0], &format, &err) < 0)
		return command_fail(command, &err);
	if (argc > 1 && (!format || !format->several))
		return command_usage(command,
				     "expected one FILE; only HeapLog dumps can be several");
	if (!format) {
		err_set(&err, ERR_INPUT,
			"%s: unrecognised format (expected heaptrack, HeapLog or EMAD)", argv[0]);
		return command_fail(command, &err);
	}
	job.tick_ns = has_tick ? args->tick_ns : format->tick_ns;
	return import(command, format, &job);
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
