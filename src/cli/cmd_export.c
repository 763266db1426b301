/* SPDX-License-Identifier: MIT
 * heapwise export: a trace in another program's format.
 * Host. The formats are in exchange/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/loaded.h"
#include "exchange/exchange.h"
#include "exchange/heaplog.h"

struct export_args {
	const char *to, *output;
	u64 image;
	bool symbols;
	const char *entries;
	u64 every, tick_ns;
};

static const struct export_args defaults = {.image = NOT_GIVEN, .symbols = true, .tick_ns = 1000000};

static const struct option_spec options[] = {
	OPTION(struct export_args, to, 't', "to", OPTION_CHOICE, EXCHANGE_FORMATS, "the format"),
	OPTION(struct export_args, output, 'o', "output", OPTION_STRING, "FILE",
	       "write to FILE (standard output)"),
	OPTION(struct export_args, image, 0, "image", OPTION_NUMBER, "N",
	       "export the program's image N, counted from 0; each exec begins one (the last)"),
	OPTION(struct export_args, symbols, 0, "no-symbols", OPTION_CLEAR, NULL,
	       "do not look for function names that the trace does not have"),
	OPTION(struct export_args, entries, 0, "entries", OPTION_CHOICE, "all|freed|live",
	       "heaplog: which allocation entries (all)"),
	OPTION(struct export_args, every, 0, "every", OPTION_NUMBER, "N",
	       "heaplog: each N freed entries in a file of their own: FILE.0001, FILE.0002 ..."),
	OPTION(struct export_args, tick_ns, 0, "tick-ns", OPTION_NUMBER, "N",
	       "heaplog: a tick is N nanoseconds (1000000)"),
	OPTION_END};

/* A file that could not be written whole is removed. */
static int write_file(const struct exchange_format *format, const struct exchange_job *job,
		      const char *path, struct err *err)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int status;

	if (!out)
		return err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	status = format->write(job, out, err);
	if (!path)
		return status;
	if (fclose(out) != 0 && status == 0)
		status = err_set(err, ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
	if (status < 0)
		unlink(path);
	return status;
}

static u32 entries_of(const char *word)
{
	if (!word || strcmp(word, "all") == 0)
		return HEAPLOG_ALL;
	return strcmp(word, "freed") == 0 ? HEAPLOG_FREED : HEAPLOG_LIVE;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct export_args *args = fields;
	const struct exchange_format *format = args->to ? exchange_find(args->to) : NULL;
	struct loaded trace = {.command = command,
			       .wanted_image = args->image,
			       .find_symbols = args->symbols};
	struct heaplog_options heaplog = {.entries = entries_of(args->entries), .every = args->every,
					  .tick_ns = args->tick_ns};
	struct err err = {0};
	int status;

	if (argc != 1)
		return command_usage(command, argc ? "one FILE at a time" : "which FILE?");
	if (!format)
		return command_usage(command, "which format: --to %s?", EXCHANGE_FORMATS);
	if (args->every && !args->output)
		return command_usage(command, "--every needs a name for the files: -o FILE");
	if (args->tick_ns == 0 || args->tick_ns > 1000000000)
		return command_usage(command, "--tick-ns wants a number from 1 to 1000000000");
	trace.path = argv[0];
	status = loaded_read(&trace, &err);
	if (status == 0) {
		struct exchange_job job = {.path = trace.path,
					   .image = loaded_image(&trace),
					   .model = trace.model,
					   .symbols = &trace.symbols,
					   .output = args->output,
					   .heaplog = &heaplog};

		status = write_file(format, &job, args->output, &err);
	}
	loaded_release(&trace);
	return status < 0 ? command_fail(command, &err) : EXIT_DONE;
}

const struct command cmd_export = {
	.name = "export",
	.operands = "FILE",
	.summary = "write a trace in another program's format",
	.details = "emad: the text form of routine traces that 'heapwise import-emad' reads; for "
		   "traces "
		   "that have\n"
		   "routines. heaplog: dumps of allocation entries with types, HeapLog version 4, that\n"
		   "'heapwise import-heaplog' reads.",
	.options = options,
	.fields_size = sizeof(struct export_args),
	.fields_default = &defaults,
	.run = run,
};
