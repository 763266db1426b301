/* SPDX-License-Identifier: MIT
 * heapwise export: a trace in another program's format.
 * Host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/base/text.h"
#include "host/base/outfile.h"
#include "show/cli/opening.h"
#include "show/cli/web.h"
#include "show/formats/formats.h"
#include "show/formats/heaplog.h"
#include "show/formats/html.h"

struct export_args {
	struct trace_args trace; /* without a `where`: only a page has one, see query */
	const char *to, *output;
	const char *metric;
	bool types;
	const char *entries;
	u64 every, tick_ns;
	const char *query, *views, *source;
	struct option_strings sources;
	u64 max_mb, min_share; /* in percent */
};

static const struct export_args defaults = {
	.trace = {TRACE_DEFAULTS}, .types = true, .tick_ns = 1000000, .max_mb = 15, .min_share = 1};

#define ARGS struct export_args

static const struct option_spec options[] = {
	OPT(to, 't', "to", CHOICE, formats_written, "output format"),
	OPT(output, 'o', "output", STRING, "FILE",
	    "write to FILE (default: standard output, also given as -)"),
	OPT(metric, 'm', "metric", CHOICE, EXPORT_METRIC_WORDS,
	    "folded, dot: what to measure; speedscope: what to show first (default bytes)"),
	IMAGE_OPTION(struct trace_args),
	SYMBOLS_OPTION(struct trace_args),
	OPT(types, 0, "no-types", CLEAR, NULL,
	    "pprof, sqlite, csv, jsonl, heaplog: do not look up types; saves time and memory"),
	OPT(min_share, 0, "min-share", NUMBER, "PERCENT",
	    "owners-graphml, owners-dot: include owners that hold at least PERCENT of the live "
	    "bytes (default 1)"),
	OPT(entries, 0, "entries", CHOICE, "all|freed|live",
	    "heaplog: which allocation entries to write (default all)"),
	OPT(every, 0, "every", NUMBER, "N",
	    "heaplog: write every N freed entries to a separate file: FILE.0001, FILE.0002 ..."),
	OPT(tick_ns, 0, "tick-ns", NUMBER, "N",
	    "heaplog: length of a tick in nanoseconds (default 1000000)"),
	OPT(query, 0, "q", STRING, "QUERY", NULL),
	OPT(query, 0, "where", STRING, "QUERY",
	    "html: include only chunks that match the query; see heapwise-query(7)"),
	OPT(views, 0, "views", STRING, "LIST",
	    "html: include only these views: overview, flame, timeline, points, types, owners, "
	    "frequency, mprof, calls, threads, resident, chunks, source (default all)"),
	OPT(max_mb, 0, "max-mb", NUMBER, "N",
	    "html: limit the size to N MB by leaving out data (default 15; 0 = no limit)"),
	OPT(source, 0, "source", CHOICE, "none|lines|files",
	    "html: include source text, of lines that allocate or of whole files (default none)"),
	OPT(sources, 0, "source-folder", STRINGS, "DIR",
	    "html: let --source include files from this folder. Repeatable"),
	OPTION_END};

static u32 entries_of(const char *word)
{
	if (!word || strcmp(word, "all") == 0)
		return HEAPLOG_ALL;
	return strcmp(word, "freed") == 0 ? HEAPLOG_FREED : HEAPLOG_LIVE;
}

/* What a format has no place for is told here. */
static void print_caveats(const struct command *command, const struct export_job *job)
{
	struct result *caveats = export_caveats(job);

	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		fprintf(stderr, "heapwise %s: note: %s\n", command->name, caveats->caveats.data[i]);
	result_free(caveats);
}

/* The same answers as those of `heapwise types`. */
static int ask_types(struct export_job *job, bool calls, struct type_cascade *types,
		     struct type_answer **points, struct err *err)
{
	struct type_query query = {.source = &job->stacks, .calls = calls, .guess = true};
	int status = type_cascade_init(types, &query, err);

	if (status < 0)
		return status;
	job->types = types;
	if (calls)
		return 0;
	*points = calloc(job->stacks.model->points.count + 1, sizeof(**points));
	if (!*points)
		return err_memory_for(err, "types");
	type_of_points(types, *points);
	job->stacks.types = *points;
	return 0;
}

static int write_export(const struct file_format *format, const struct export_args *args,
			struct study *trace, const struct outfile *out, struct err *err)
{
	struct heaplog_options heaplog = {.entries = entries_of(args->entries),
					  .every = args->every,
					  .tick_ns = args->tick_ns};
	struct export_job job = {.path = trace->path,
				 .info = &trace->info,
				 .file = strbuf_text(&out->temporary),
				 .metric = export_metric_parse(args->metric),
				 .image = study_image(trace),
				 .output = args->output,
				 .heaplog = &heaplog,
				 .min_share = (double)args->min_share / 100};
	struct type_cascade types = {0};
	struct type_answer *points = NULL;
	int status = 0;

	job.stacks = format->point_types && args->types ? typed_stacks(trace, FORMAT_JSON, 0)
							: trace->stacks;
	if (format->chunk_types && (args->types || format->graphs))
		status = ask_types(&job, format->call_types, &types, &points, err);
	if (status == 0)
		status = format->write(&job, out->file, err);
	if (status == 0 && format->mute)
		print_caveats(&cmd_export, &job);
	type_cascade_release(&types);
	free(points);
	return status;
}

static int write_format(const struct file_format *format, const struct export_args *args,
			struct study *trace, struct err *err)
{
	struct outfile out;
	int status = outfile_open(&out, args->output, format->named, err);

	if (status < 0)
		return status;
	if (out.file == stdout && isatty(STDOUT_FILENO))
		progress_end();
	else
		progress_phase("exporting", trace->path);
	return outfile_close(&out, write_export(format, args, trace, &out, err), err);
}

static enum report_source source_of(const char *word)
{
	if (!word || strcmp(word, "none") == 0)
		return REPORT_NO_SOURCE;
	return strcmp(word, "lines") == 0 ? REPORT_LINES : REPORT_FILES;
}

/* A query that is wrong would leave all views out, and nobody would know why. */
static int check_query(struct study *trace, const char *text, struct err *err)
{
	struct query_error error = {0};
	struct selection chosen = {0};
	int status = text ? query_select(trace->engine, text, NULL, &chosen, &error) : 0;

	selection_release(&chosen);
	return status < 0 ? err_set(err, ERR_USAGE, "--where: %s", error.message) : 0;
}

/* Which files are text of the program is the trace's word, which may be a stranger's. */
static void say_withheld(const struct folders *withheld)
{
	for (u32 i = 0; i < withheld->count; i++) {
		fputs(i ? ", "
			: "heapwise export: source text was left out; to include it, give its "
			  "folders with --source-folder: ",
		      stderr);
		text_put(stderr, withheld->paths[i], "", '?');
	}
	if (withheld->count)
		fputc('\n', stderr);
}

/* A page shows what the server answers, so the trace is opened as the server does. */
static int write_page(const struct file_format *format, const struct export_args *args,
		      const char *path, struct err *err)
{
	struct report_options how = {.query = args->query,
				     .views = args->views,
				     .max_bytes = args->max_mb * 1000000,
				     .source = source_of(args->source)};
	struct api api = {.version = HEAPWISE_VERSION};
	struct folders withheld = {0};
	struct outfile out;
	int status = 0;

	how.withheld = &withheld;
	for (u32 i = 0; i < args->sources.count && status == 0; i++)
		status = folders_add(&api.sources, args->sources.items[i], err);
	if (status < 0)
		return status;

	api.traces[0] = study_new(path, &view_options);
	if (!api.traces[0])
		return err_memory(err);
	api.count = 1;
	api_init(&api);
	progress_phase("reading", path);
	status = study_load(api.traces[0], err);
	progress_end();
	if (status == 0)
		web_say_index(api.traces[0]);
	progress_phase("writing the page of", path);
	if (status == 0)
		status = check_query(api.traces[0], args->query, err);
	if (status == 0)
		status = outfile_open(&out, args->output, format->named, err);
	if (status == 0)
		status = outfile_close(&out, report_page_write(&api, &how, out.file, err), err);
	progress_end();
	if (status == 0)
		say_withheld(&withheld);
	folders_release(&withheld);
	api_release(&api);
	study_free(api.traces[0]);
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct export_args *args = fields;
	const struct file_format *format = format_find(args->to);
	struct study *trace;
	const char *wrong;
	struct err err = {0};
	int status;

	if (argc != 1)
		return command_usage(command, argc ? "expected one FILE" : "no FILE given");
	if (!format)
		return command_usage(command, "no format given; use --to %s", formats_written);
	if (args->every && (!args->output || strcmp(args->output, "-") == 0))
		return command_usage(command, "--every requires a file name: -o FILE");
	if (format->binary && isatty(STDOUT_FILENO) &&
	    (!args->output || strcmp(args->output, "-") == 0))
		return command_usage(command,
				     "%s is a binary format and standard output a "
				     "terminal; use -o FILE",
				     format->name);
	if (args->tick_ns == 0 || args->tick_ns > 1000000000)
		return command_usage(command, "--tick-ns must be 1 to 1000000000");
	if (args->min_share > 100)
		return command_usage(command, "--min-share must be at most 100");
	if (args->views && !report_views_known(args->views, &wrong))
		return command_usage(command, "--views: unknown view '%s'", wrong);
	if (format->page) {
		status = write_page(format, args, argv[0], &err);
	} else {
		struct trace_args how = args->trace;

		how.graphs = format->graphs;
		trace = open_trace(command, &how, NULL, argv[0], &err);
		status = trace ? write_format(format, args, trace, &err) : err.code;
		close_trace(trace);
	}
	return status < 0 ? command_fail(command, &err) : EXIT_DONE;
}

const struct command cmd_export = {
	.name = "export",
	.operands = "FILE",
	.summary = "convert a trace to another format",
	.details = formats_help,
	.options = options,
	.fields_size = sizeof(struct export_args),
	.fields_default = &defaults,
	.run = run,
};
