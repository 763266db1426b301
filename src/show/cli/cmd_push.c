/* SPDX-License-Identifier: MIT
 * heapwise fleet push: runs to a store of many, or to a server of profiles.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "show/cli/pushing.h"
#include "show/cli/trace_options.h"
#include "show/cli/traces.h"
#include "show/fleet/spool.h"

struct push_args {
	const char *to, *host, *version, *build, *spool, *format;
	struct option_strings labels;
	u64 image, spool_max;
	bool symbols, chunks, trace, partial;
};

static const struct push_args defaults = {.image = NOT_GIVEN,
					  .spool_max = SPOOL_BYTES,
					  .symbols = true};

#define ARGS struct push_args

static const struct option_spec options[] = {
	OPT(to, 't', "to", STRING, "ADDRESS",
	    "clickhouse://[USER[:PASSWORD]@]HOST:PORT[,HOST:PORT...]/DATABASE, or "
	    "pprof+http://HOST:PORT/PATH"),
	OPT(labels, 'l', "label", STRINGS, "KEY=VALUE",
	    "attach this label to the runs. Repeatable"),
	OPT(host, 0, "host", STRING, "NAME", "host on which they ran (default: this host)"),
	OPT(version, 0, "version", STRING, "TEXT", "version of the program"),
	OPT(build, 0, "build", STRING, "ID", "name of the build (default: the program's build-id)"),
	OPT(chunks, 0, "chunks", SET, NULL, "also push a row for each chunk"),
	OPT(trace, 0, "trace", SET, NULL, "also push the trace itself, for 'heapwise fleet fetch'"),
	OPT(partial, 0, "partial", SET, NULL, "also push traces that are incomplete or damaged"),
	OPT(spool, 0, "spool", STRING, "FOLDER",
	    "keep traces in FOLDER while the store is unreachable, and deliver those that are "
	    "there"),
	OPT(spool_max, 0, "spool-max", BYTES, "BYTES",
	    "with --spool: maximum size of the folder; then the oldest traces are dropped (default "
	    "1G)"),
	IMAGE_OPTION(struct push_args),
	SYMBOLS_OPTION(struct push_args),
	FORMAT_OPTION(struct push_args),
	OPTION_END};

static const char *wrong_label(const struct option_strings *labels)
{
	for (u32 i = 0; i < labels->count; i++)
		if (!strchr(labels->items[i], '=') || *labels->items[i] == '=')
			return labels->items[i];
	return NULL;
}

/* All go through the folder, so that nothing is lost if this process is. */
static int push_spooled(const struct push_args *args, struct pushing *pushing, int argc,
			char **argv)
{
	const struct run_about about = pushing_about(pushing);
	struct err err = {0};

	for (int i = 0; i < argc; i++) {
		struct trace_list traces = {0};
		int status = trace_list_find(&traces, argv[i], &err);

		for (u64 k = 0; k < traces.paths.count && status == 0; k++)
			status = spool_keep(args->spool, traces.paths.data[k], &about, &err);
		trace_list_release(&traces);
		if (status < 0)
			return command_fail(pushing->command, &err);
	}
	return pushing_deliver(pushing, args->to, args->spool, args->spool_max);
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	struct push_args *args = fields;
	struct pushing pushing = {.command = command,
				  .labels = &args->labels,
				  .host = args->host,
				  .version = args->version,
				  .build = args->build,
				  .image = args->image,
				  .symbols = args->symbols,
				  .chunks = args->chunks,
				  .trace = args->trace,
				  .partial = args->partial};
	struct result *result;
	const char *wrong = wrong_label(&args->labels);
	int status;

	if (!args->to)
		return command_usage(command, "no store given; use --to "
					      "clickhouse://HOST:PORT/DATABASE");
	if (wrong)
		return command_usage(command, "--label: expected KEY=VALUE, not '%s'", wrong);
	if (argc == 0 && !args->spool)
		return command_usage(command, "no TRACE given");
	if (args->spool) {
		status = push_spooled(args, &pushing, argc, argv);
	} else {
		status = pushing_open(&pushing, args->to);
		if (status == EXIT_DONE)
			status = pushing_all(&pushing, argc, argv);
	}
	result = pushing_result(&pushing);
	if (result && pushing.opened)
		print_result(result, format_parse(args->format));
	result_free(result);
	pushing_close(&pushing);
	return status;
}

const struct command cmd_push = {
	.name = "fleet push",
	.operands = "[TRACE...]",
	.summary = "send runs to a fleet store or a profile server",
	.details =
		"TRACE is a trace written by 'heapwise run', or a folder of traces.\n"
		"clickhouse: the tables created by 'heapwise fleet init', which 'heapwise fleet' queries. Runs\n"
		"that the store has are not sent again, and partly sent runs are not visible: after an error,\n"
		"push the same traces again.\n"
		"pprof+http, pprof+https: a profile of each run, for Pyroscope (path /ingest) or Parca (path\n"
		"ends in /profiles/writeraw).\n"
		"The password can also be given in the environment: HEAPWISE_PASSWORD.",
	.options = options,
	.fields_size = sizeof(struct push_args),
	.fields_default = &defaults,
	.run = run,
};
