/* SPDX-License-Identifier: MIT
 * heapwise trace index: makes indexes of traces, so that large ones open at once, and removes them.
 * Host. */
#include <stdio.h>
#include <unistd.h>

#include "host/base/units.h"
#include "show/cli/opening.h"
#include "show/cli/traces.h"
#include "study/layout/points.h"

struct index_args {
	struct trace_args trace;
	bool remove, quiet;
};

static const struct index_args defaults = {.trace = {TRACE_DEFAULTS}};

#define ARGS struct index_args

static const struct option_spec options[] = {
	OPT(remove, 0, "remove", SET, NULL, "remove the indexes of these traces"),
	IMAGE_OPTION(struct trace_args), SYMBOLS_OPTION(struct trace_args),
	OPT(quiet, 'q', "quiet", SET, NULL, "do not print the result"), OPTION_END};

/* Names first: they change the trace, and then its index would be old. */
static int make_one(const struct command *command, const struct index_args *args, const char *path,
		    struct err *err)
{
	struct study_options how = opening_options(command);
	struct study *study;
	struct index_made made;
	int status;

	how.image = args->trace.image;
	how.find_names = args->trace.symbols;
	how.store = point_sums_store;
	study = study_new(path, &how);
	status = study ? study_look(study, err) : err_memory(err);
	if (status == 0) {
		progress_phase("indexing", path);
		status = study_index(study, &made, err);
	}
	close_trace(study);
	if (status == 0 && !args->quiet)
		fprintf(stderr, "heapwise %s: %s %s: %s\n", command->name, made.path,
			made.fresh ? "is up to date" : "written", units_bytes(made.bytes).text);
	return status;
}

static int remove_one(const struct command *command, const struct index_args *args,
		      const char *path, struct err *err)
{
	u64 removed;
	int status = index_remove(path, &removed, err);

	if (status == 0 && !args->quiet)
		fprintf(stderr, "heapwise %s: %s: removed %s index%s\n", command->name, path,
			removed ? units_count(removed).text : "no", removed == 1 ? "" : "es");
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct index_args *args = fields;
	int worst = EXIT_DONE;

	if (argc < 1)
		return command_usage(command, "no FILE given");
	for (int i = 0; i < argc; i++) {
		struct trace_list traces = {0};
		struct err err = {0};
		/* a trace that is gone may have left an index */
		int status = args->remove && access(argv[i], F_OK) != 0
				     ? remove_one(command, args, argv[i], &err)
				     : trace_list_find(&traces, argv[i], &err);

		for (u64 k = 0; k < traces.paths.count && status == 0; k++)
			status = args->remove
					 ? remove_one(command, args, traces.paths.data[k], &err)
					 : make_one(command, args, traces.paths.data[k], &err);
		trace_list_release(&traces);
		if (status < 0) {
			int code = command_fail(command, &err);

			worst = code > worst ? code : worst;
		}
	}
	return worst;
}

const struct command cmd_index = {
	.name = "trace index",
	.operands = "FILE...",
	.summary = "build an index so that a large trace opens at once",
	.details =
		"FILE is a trace, or a folder written with --children. The index is FILE.index, "
		"or a file in the\n"
		"user's cache folder if that is not writable. It takes 67 bytes per allocation, and 115 with\n"
		"accesses. Other commands use it automatically until the trace changes.",
	.options = options,
	.fields_size = sizeof(struct index_args),
	.fields_default = &defaults,
	.run = run,
};
